import type { ConnectionInfo, V1 } from '../src/index.js'

/**
 * A handler for Deno: `Deno.serve({ hostname: '127.0.0.1' }, deno(v1))`. Paths that `v1` does not know go to `next`; without it they are 404.
 *
 * ```ts
 * Deno.serve({ hostname: '127.0.0.1' }, deno(v1, () => new Response('my app')))
 * ```
 *
 * Deno aborts a request's signal after a good answer too, and says so once on stderr; it does no harm here, and
 * `--unstable-no-legacy-abort` silences it.
 */
export function deno<Info extends ConnectionInfo>(
  v1: V1,
  next?: (request: Request, info: Info) => Response | Promise<Response>,
): (request: Request, info: Info) => Response | Promise<Response> {
  return (request, info) => (next && !v1.match(request) ? next(request, info) : v1.fetch(request, info))
}
