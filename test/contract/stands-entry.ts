/**
 * Run by itself: an application of its own with `/v1` mounted, whose worker is made to stand as `says` says, so many times,
 * while it answers others; what became of everybody is told in lines of JSON.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import { express } from '../../adapters/express.js'
import type { WorkerThread } from '../../src/engines/remote/index.js'
import type { DevicePreference } from '../../src/engines/webgpu/index.js'
import { webgpuInWorker } from '../../src/engines/webgpu/worker/in-worker.js'
import { createV1 } from '../../src/index.js'

const [from, device, stands, says, rounds] = process.argv.slice(2) as [string, DevicePreference, ...string[]]
const MODEL = 'test/model'
const logged: string[] = []
const options = { models: [{ id: MODEL, from }], device, log: (message: string) => void logged.push(message) }
const script = new URL('worker.mjs', import.meta.url)
const start = () => new Worker(script) as unknown as WorkerThread
const v1 = createV1({ engine: webgpuInWorker(options, start, Number(stands)), keys: 'none', log: () => {} })
const mounted = express(v1)
const server = createServer((request, response) =>
  request.url === '/own' ? response.end('mine') : mounted(request, response),
).listen(0, '127.0.0.1')
// A busy machine takes longer between two requests.
server.keepAliveTimeout = 600_000
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const at = (path: string) => `http://127.0.0.1:${port}${path}`

async function chat(content: string, maxTokens: number) {
  const body = JSON.stringify({
    model: MODEL,
    messages: [{ role: 'user', content }],
    max_tokens: maxTokens,
    ignore_eos: true,
    temperature: 0,
  })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(at('/v1/chat/completions'), { method: 'POST', headers, body })
  const json = (await response.json()) as { error?: object; choices?: [{ message: { content: string } }] }
  return { status: response.status, error: json.error ?? null, text: json.choices?.[0].message.content ?? null }
}

/** What is answered beside it, as long as it lasts. */
async function beside<T>(work: Promise<T>): Promise<{ done: T; statuses: [path: string, number[]][] }> {
  let over = false
  const statuses = ['/own', '/v1/models', '/v1/health'].map((path): [string, number[]] => [path, []])
  const asking = async ([path, seen]: [string, number[]]) => {
    while (!over) {
      const { status } = await fetch(at(path))
      if (!over) seen.push(status)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const askers = statuses.map(asking)
  const done = await work
  over = true
  await Promise.all(askers)
  return { done, statuses }
}

const tell = (report: object) => console.log(JSON.stringify(report))
const first = await chat('Hello', 4)
for (let round = 0; round < Number(rounds); round++) {
  const other = chat('Tell me about the sea.', 3000)
  await new Promise((resolve) => setTimeout(resolve, 200))
  const { done: stood, statuses } = await beside(chat(says!, 4))
  const [left, again] = [await other, await chat('Hello', 4)]
  tell({ first, stood, left, again, statuses })
}
const models = (await (await fetch(at('/v1/models'))).json()) as { data: { metadata: object }[] }
tell({ metadata: models.data[0]!.metadata, logged })
server.close()
await v1.close()
