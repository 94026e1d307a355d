import type { FastifyPluginCallback } from 'fastify'
import type { V1 } from '../src/index.js'
import { answer } from './node.js'

/**
 * A plugin for Fastify 4 and 5: `app.register(fastify(v1))`. It answers before Fastify reads a body; paths that `v1` does not have
 * go to the application. Fastify passes on the whole path, so under `/openai` the `basePath` is `/openai/v1`. Fastify itself
 * refuses a path that is not a valid URL (`/v1/models/%`), unless its `frameworkErrors` passes it on.
 *
 * Hooks for requests that were added before it run first, and what they put into the head is sent. What belongs to routes
 * is not for it: `@fastify/rate-limit` counts its requests only with `app.addHook('onRequest', app.rateLimit())`, and a
 * part of the application that has hooks of its own (`register` without `fastify-plugin`) passes on only its own routes.
 */
export function fastify(v1: V1): FastifyPluginCallback {
  const plugin: FastifyPluginCallback = (app, _options, done) => {
    app.addHook('onRequest', (request, reply, next) => {
      let passed = false
      void answer(v1, request.raw, reply.raw, () => {
        passed = true
        next()
      })
      if (passed) return
      reply.hijack()
      // Fastify would have sent these with an answer of its own.
      for (const [name, value = ''] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value)
    })
    done()
  }
  // For the whole application: a plugin's hooks are else of its own routes alone.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
