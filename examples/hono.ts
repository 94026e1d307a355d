// A /v1 inside a Hono application, on Node.
//   local-v1 as docs/start/hono.md installs it, and: npm install hono @hono/node-server
//   npx tsx hono.ts
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createV1, textOf } from 'local-v1'
import { hono } from 'local-v1/hono'
import { scripted } from 'local-v1/testing'

// Any engine works here: one that runs models on this device, or upstream() for another /v1.
const engine = scripted({ models: { 'demo/parrot': ({ messages }) => textOf(messages.at(-1)!.content) } })

const v1 = createV1({ engine, keys: [process.env.V1_KEY ?? 'sk-local'] })

const app = new Hono()
app.use(hono(v1))
app.get('/', ({ text }) => text('The rest of the application.'))

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 8080) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}/v1`)
})
