import { V1Error } from '../../src/contract/errors.js'
import type { V1 } from '../../src/index.js'

/** What a service worker does with a service: requests that are its own, and those that no page's worker answers. */
export type Routed = Pick<V1, 'match' | 'fetch' | 'watchLoads' | 'unload'>

/** Requests under a path that the pages' workers answer, and nobody where there is none. */
export function pagesAlone(basePath: string): Routed {
  const base = `/${basePath}`.replace(/^\/+/, '/').replace(/\/+$/, '')
  return {
    match({ url }) {
      const { pathname } = new URL(url)
      return pathname === base || pathname.startsWith(`${base}/`)
    },
    async fetch() {
      const message = 'No tab runs the models: open a page that calls install().'
      return Response.json(new V1Error(503, message, { code: 'device_unreachable' }), { status: 503 })
    },
    watchLoads: () => () => {},
    unload: async () => {},
  }
}
