// A /v1 on plain node:http.
//   local-v1 as docs/start/node.md installs it
//   npx tsx node-http.ts
import { createServer } from 'node:http'
import { createV1, textOf } from 'local-v1'
import { express } from 'local-v1/express'
import { scripted } from 'local-v1/testing'

// Any engine works here: one that runs models on this device, or upstream() for another /v1.
const engine = scripted({ models: { 'demo/parrot': ({ messages }) => textOf(messages.at(-1)!.content) } })

const v1 = createV1({ engine, keys: [process.env.V1_KEY ?? 'sk-local'] })

const server = createServer(express(v1))
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`listening on http://127.0.0.1:${address?.port}/v1`)
})

// Lets running answers end before the process ends.
process.once('SIGTERM', () => {
  server.close()
  void v1.close()
})
