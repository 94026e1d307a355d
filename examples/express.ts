// A /v1 inside an Express application.
//   local-v1 as docs/start/express.md installs it, and: npm install express
//   npx tsx express.ts
import app from 'express'
import { createV1, textOf } from 'local-v1'
import { express } from 'local-v1/express'
import { scripted } from 'local-v1/testing'

// Any engine works here: one that runs models on this device, or upstream() for another /v1.
const engine = scripted({ models: { 'demo/parrot': ({ messages }) => textOf(messages.at(-1)!.content) } })

const v1 = createV1({ engine, keys: [process.env.V1_KEY ?? 'sk-local'] })

const server = app()
  // Before express.json(): then the body is read once, and a bad body gets an error in OpenAI's form.
  .use(express(v1))
  .use(app.json())
  .get('/', (_, response) => void response.send('The rest of the application.'))
  .listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
    const address = server.address()
    if (typeof address === 'object') console.log(`listening on http://127.0.0.1:${address?.port}/v1`)
  })
