import type { FastifyPluginCallback } from 'fastify'
import type { V1 } from '../src/index.js'
import { answer } from './node.js'

/**
 * A plugin for Fastify 5: `app.register(fastify(v1))`. It answers before Fastify looks at a body, and whatever `v1` has no
 * path for goes on to the application. Fastify leaves the whole path in place, so that under `/openai` the `basePath` is
 * `/openai/v1`. A path that is no URL (`/v1/models/%`) Fastify refuses itself, unless its `frameworkErrors` hands it on.
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
