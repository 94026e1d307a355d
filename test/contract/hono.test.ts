import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { hono } from '../../adapters/hono.js'
import { contract } from '../contract.js'
import { overSocket } from './over-node.js'
import { outside, services } from './services.js'

contract('Hono over @hono/node-server', async () => {
  const here = services()
  const app = new Hono()
  for (const v1 of here.all) app.use(hono(v1))
  app.all('*', ({ req }) => outside(here, req.raw))
  return overSocket(getRequestListener(app.fetch))
})
