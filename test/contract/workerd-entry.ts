/** Run by workerd as a Worker: a service for each request, which passes it on to another. */
import { nano } from 'local-v1-nano'
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
    const { pathname } = new URL(request.url)
    if (pathname === '/early') return new Response(String(early))
    if (pathname === '/nano') return new Response(whereNano())
    const engine = upstream({ baseURL: BEHIND, models: ['test/hello', 'test/endless'] })
    return createV1({ engine, keys: ['a-key'] }).fetch(request)
  },
}

function whereNano(): string {
  try {
    return nano.from
  } catch (error) {
    return String(error)
  }
}
