import type { ConnectionInfo, V1 } from '../src/index.js'

/**
 * A handler for Deno: `Deno.serve({ hostname: '127.0.0.1' }, deno(v1))`. Paths that `v1` does not have go to `next`; without
 * it they get a 404.
 *
 * ```ts
 * Deno.serve({ hostname: '127.0.0.1' }, deno(v1, () => new Response('my app')))
 * ```
 *
 * Deno aborts a request's signal also after a complete answer, and prints that once on stderr. That is harmless here;
 * `--unstable-no-legacy-abort` turns it off.
 */
export function deno<Info extends ConnectionInfo>(
  v1: V1,
  next?: (request: Request, info: Info) => Response | Promise<Response>,
): (request: Request, info: Info) => Response | Promise<Response> {
  return (request, info) => (next && !v1.match(request) ? next(request, info) : v1.fetch(request, info))
}
