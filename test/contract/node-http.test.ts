import { express } from '../../adapters/express.js'
import { contract } from '../contract.js'
import { outsideNode, overSocket } from './over-node.js'
import { services } from './services.js'

contract('node:http', async () => {
  const here = services()
  const listeners = here.all.map(express)
  return overSocket((incoming, outgoing) => {
    const next = (at: number): void => {
      const listener = listeners[at]
      if (listener) listener(incoming, outgoing, () => next(at + 1))
      else void outsideNode(here, incoming, outgoing)
    }
    next(0)
  })
})
