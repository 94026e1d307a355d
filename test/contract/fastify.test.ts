import type { ServerResponse } from 'node:http'
import fastifyApp from 'fastify'
import { express } from '../../adapters/express.js'
import { fastify } from '../../adapters/fastify.js'
import type { NodeIncoming } from '../../adapters/node.js'
import { contract } from '../contract.js'
import { outsideNode, overSocket } from './over-node.js'
import { services } from './services.js'

contract('Fastify', async () => {
  const here = services()
  // What is no path to Fastify reaches no hook: an application that wants our answer to it hands it on.
  const handOn = (incoming: NodeIncoming, outgoing: ServerResponse, [v1, ...more] = here.all): void => {
    if (v1) express(v1)(incoming, outgoing, () => handOn(incoming, outgoing, more))
    else outsideNode(here, incoming, outgoing)
  }
  const app = fastifyApp({
    frameworkErrors(_, request, reply) {
      reply.hijack()
      handOn(request.raw, reply.raw)
    },
  })
  for (const v1 of here.all) app.register(fastify(v1))
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    outsideNode(here, request.raw, reply.raw)
  })
  await app.ready()
  return overSocket(app.routing)
})
