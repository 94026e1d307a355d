/** Run by workerd as a Worker: a service for each request, which passes it on to another. */
import { upstream } from '../../src/engines/upstream.js'
import { createV1 } from '../../src/index.js'

let early: unknown
try {
  createV1({ engine: upstream({ baseURL: 'http://localhost/v1', models: [] }), keys: 'none' })
} catch (error) {
  early = error
}

export default {
  fetch(request: Request, { BEHIND }: { readonly BEHIND: string }): Promise<Response> | Response {
    if (new URL(request.url).pathname === '/early') return new Response(String(early))
    const engine = upstream({ baseURL: BEHIND, models: ['test/hello', 'test/endless'] })
    return createV1({ engine, keys: ['a-key'] }).fetch(request)
  },
}
