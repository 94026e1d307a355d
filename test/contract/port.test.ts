import { portOf, RemoteEngine, serveEngine } from '../../src/engines/remote/index.js'
import { contract } from '../contract.js'
import { reachThrough } from './reach.js'
import { outside, services } from './services.js'

const start = async () => {
  const ports: MessagePort[] = []
  const here = services((engine) => {
    const { port1, port2 } = new MessageChannel()
    ports.push(port1, port2)
    serveEngine(engine, portOf(port2))
    return new RemoteEngine({
      start: () => ({ port: portOf(port1), gone: new Promise(() => {}), end: () => {} }),
    })
  })
  return reachThrough(
    async (url, init) => {
      const request = new Request(url, init)
      const { fetch } = here.all.find((v1) => v1.match(request)) ?? { fetch: async () => outside(here, request) }
      return fetch(request)
    },
    'http://localhost',
    async () => {
      for (const port of ports) port.close()
    },
  )
}

// All of it: each endpoint calls an engine in its own way, and the port has to know them all.
contract('an engine on the other side of a MessagePort', start, { whole: true })
