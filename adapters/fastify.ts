import type { FastifyPluginCallback } from 'fastify'
import type { V1 } from '../src/index.js'
import { answer } from './node.js'

/**
 * A plugin for Fastify 5: `app.register(fastify(v1))`. It answers before Fastify reads a body; paths that `v1` does not have
 * go to the application. Fastify passes on the whole path, so under `/openai` the `basePath` is `/openai/v1`. Fastify itself
 * refuses a path that is not a valid URL (`/v1/models/%`), unless its `frameworkErrors` passes it on.
 */
export function fastify(v1: V1): FastifyPluginCallback {
  const plugin: FastifyPluginCallback = (app, _options, done) => {
    app.addHook('onRequest', (request, reply, next) => {
      let passed = false
      void answer(v1, request.raw, reply.raw, () => {
        passed = true
        next()
      })
      if (!passed) reply.hijack()
    })
    done()
  }
  // For the whole application: a plugin's hooks are else of its own routes alone.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
