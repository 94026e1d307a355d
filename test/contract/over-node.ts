import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { listen } from '../support/serve.js'
import { type Reach, reachThrough } from './reach.js'
import { outside, type Services } from './services.js'

/** A reach over a real socket of this machine. */
export async function overSocket(listener: RequestListener): Promise<Reach> {
  const { origin, close } = await listen(listener)
  return reachThrough(fetch, origin, close)
}

/** The application around the services, as a Node listener. */
export async function outsideNode(services: Services, incoming: IncomingMessage, outgoing: ServerResponse) {
  const answer = outside(services, new Request(`http://localhost${incoming.url}`))
  outgoing.writeHead(answer.status).end(await answer.text())
}
