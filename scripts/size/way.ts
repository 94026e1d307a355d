/**
 * `tsx scripts/size/way.ts`: through how many files and functions of `src` a request goes, from the Fetch `Request` to the
 * last byte of the answer, on the built-in model and a processor, by V8's own counts. What only the first request needs
 * (opening the model, compiling the schema) is left out: of each kind two are answered before.
 */
import { Session } from 'node:inspector/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'

export interface Way {
  readonly files: number
  readonly functions: number
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SRC = pathToFileURL(`${ROOT}src/`).href

/** What the compiler that runs scripts puts into files to keep names of closures: nobody wrote it, and no build has it. */
const NAMING = '__name'

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
}
const STRICT = { response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } } }

const models = [{ id: 'local-v1/nano', from: `${ROOT}models/nano` }]
const v1 = createV1({ engine: webgpu({ models, device: 'cpu', worker: false, log: () => {} }), keys: 'none' })

async function ask(more: object): Promise<void> {
  const messages = [{ role: 'user', content: 'Ada Lovelace, 36, from London' }]
  const body = JSON.stringify({ model: 'local-v1/nano', max_tokens: 32, messages, ...more })
  const headers = { 'content-type': 'application/json' }
  const url = 'http://127.0.0.1/v1/chat/completions'
  const response = await v1.fetch(new Request(url, { method: 'POST', headers, body }))
  const text = await response.text()
  if (!response.ok) throw new Error(text)
}

async function wayOf(session: Session, more: object): Promise<Way> {
  await ask(more)
  await ask(more)
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await ask(more)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const run = result
    .filter(({ url }) => url.startsWith(SRC))
    .map(({ functions }) => functions.filter((one) => one.functionName !== NAMING && one.ranges[0]!.count > 0).length)
    .filter((count) => count > 0)
  return { files: run.length, functions: run.reduce((sum, count) => sum + count, 0) }
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
console.log(JSON.stringify({ strict: await wayOf(session, STRICT), plain: await wayOf(session, {}) }))
await v1.close()
process.exit(0)
