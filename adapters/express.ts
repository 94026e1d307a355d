import type { ServerResponse } from 'node:http'
import type { V1 } from '../src/index.js'
import { answer, type Next, type NodeIncoming } from './node.js'

/**
 * Middleware for Express 4 and 5, and a request listener for `node:http`:
 *
 * ```ts
 * app.use(express(v1))
 * http.createServer(express(v1))
 * ```
 *
 * Mounted under a path (`app.use('/openai', express(v1))`), `basePath` may name the rest of the path or all of it. It
 * works before and after `express.json()`; put it before, so that the body is parsed once, within our limit, and
 * refused in OpenAI's form.
 */
export function express(v1: V1): (incoming: NodeIncoming, outgoing: ServerResponse, next?: Next) => void {
  return (incoming, outgoing, next) => void answer(v1, incoming, outgoing, next)
}
