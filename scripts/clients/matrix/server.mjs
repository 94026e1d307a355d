/** Models in folders behind all that the service speaks: `server.mjs FOLDER ID...`, each model in a folder of its id. */
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createV1, memoryResponses } from 'local-v1'
import { express } from 'local-v1/express'
import { messages } from 'local-v1/messages'
import { ollama } from 'local-v1/ollama'
import { webgpu } from 'local-v1/webgpu'

const [, , folder, ...ids] = process.argv
const models = ids.map((id) => ({ id, from: join(folder, id), contextLength: 16_384 }))
const v1 = createV1({
  engine: webgpu({ models, device: 'cpu', threads: 1, log: () => {} }),
  endpoints: [messages(), ollama()],
  responses: memoryResponses(),
  keys: [process.env.LOCAL_V1_KEY],
  log: (entry) => void (entry.type === 'fault' && console.error(JSON.stringify(entry))),
})
const server = createServer(express(v1))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/v1`))
