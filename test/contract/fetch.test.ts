import { contract } from '../contract.js'
import { reachThrough } from './reach.js'
import { outside, services } from './services.js'

const start = async () => {
  const here = services()
  return reachThrough(async (url, init) => {
    const request = new Request(url, init)
    // Detached, as a user may pass it on.
    const { fetch } = here.all.find((v1) => v1.match(request)) ?? { fetch: async () => outside(here, request) }
    return fetch(request)
  }, 'http://localhost')
}

contract('plain fetch', start, { whole: true })
