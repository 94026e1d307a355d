import expressApp from 'express'
import { express } from '../../adapters/express.js'
import { contract } from '../contract.js'
import { outsideNode, overSocket } from './over-node.js'
import { services } from './services.js'

contract('Express', async () => {
  const here = services()
  const app = expressApp()
  for (const v1 of here.all) app.use(express(v1))
  app.use((incoming, outgoing) => outsideNode(here, incoming, outgoing))
  return overSocket(app)
})
