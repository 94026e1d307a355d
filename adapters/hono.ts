import type { MiddlewareHandler } from 'hono'
import type { ConnectionInfo, V1 } from '../src/index.js'

/**
 * Middleware for Hono, in every runtime of Hono: `app.use(hono(v1))`. Paths that `v1` does not have go to the next handler.
 * Hono passes on the whole path, so under `/openai` the `basePath` is `/openai/v1`.
 */
export function hono(v1: V1): MiddlewareHandler {
  return async ({ req, env }, next) => {
    if (!v1.match(req.raw)) return next()
    // A handler before us has read the body; Hono still has it.
    const request = req.raw.bodyUsed ? withBody(req.raw, await req.arrayBuffer()) : req.raw
    return v1.fetch(request, connectionOf(env))
  }
}

/** What Hono's server for Node puts into `env`; Deno's own information lies there as it is. */
interface NodeBindings {
  readonly incoming: { readonly socket?: { readonly localAddress?: string } }
}

function connectionOf(env: Partial<NodeBindings> & ConnectionInfo): ConnectionInfo {
  return env?.incoming ? { localAddress: env.incoming.socket?.localAddress } : env
}

function withBody({ url, method, headers, signal }: Request, body: ArrayBuffer): Request {
  return new Request(url, { method, headers, signal, body })
}
