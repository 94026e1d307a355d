/**
 * The WebLLM engine over the real WebLLM, in Node, on a GPU in software:
 * `npx tsx scripts/check-webllm.ts --lib Qwen2-0.5B-Instruct-q4f32_1-ctx4k_cs1k-webgpu.wasm [--webllm lib/index.js] [--chunk 1]`.
 * `--chunk 1` reads prompts token by token, which a GPU in software does far sooner. The compiled library must fit the version of WebLLM; its weights are made up in the shapes that it names.
 */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { call, collect } from '../src/decode/testing/call.test-helper.js'
import type { ChatCall } from '../src/engine.js'
import { webllm } from '../src/engines/webllm/index.js'
import type { WebLlmLibrary } from '../src/engines/webllm/library.js'
import { compile } from '../src/structured/index.js'
import { softwareGpu } from '../test/support/swiftshader.js'
import { madeUpModel } from './made-up-weights.js'

const { values } = parseArgs({
  options: { lib: { type: 'string' }, webllm: { type: 'string' }, chunk: { type: 'string' } },
})
if (values.lib === undefined) throw new Error('Say which compiled library: --lib <file.wasm>')

/** What WebLLM expects of a page. Leaving any of it out was seen to break it. */
async function becomePage(origin: string): Promise<void> {
  Object.defineProperty(globalThis, 'navigator', { value: { gpu: await softwareGpu() }, configurable: true })
  const kept = new Map<string, Response>()
  const urlOf = (asked: string | Request) => (typeof asked === 'string' ? asked : asked.url)
  const cache = {
    match: async (asked: string | Request) => kept.get(urlOf(asked))?.clone(),
    add: async (asked: string | Request) => void kept.set(urlOf(asked), await fetch(asked)),
    put: async (asked: string | Request, response: Response) => void kept.set(urlOf(asked), response),
    keys: async () => [...kept.keys()].map((url) => new Request(url)),
    delete: async (asked: string | Request) => kept.delete(urlOf(asked)),
  }
  Object.assign(globalThis, { location: new URL(origin), caches: { open: async () => cache } })
  const versions = { ...process.versions, node: undefined }
  const { process: real } = globalThis
  globalThis.process = new Proxy(real, {
    get: (target, name) => {
      const value = name === 'versions' ? versions : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const wasm = await readFile(values.lib)
const files = await madeUpModel(wasm, values.chunk === undefined ? {} : { prefill_chunk_size: Number(values.chunk) })
const server = createServer((request, response) => {
  const name = request.url!.split('/').at(-1)!
  const bytes = name === 'model.wasm' ? wasm : files.get(name)
  if (bytes === undefined) response.writeHead(404).end()
  else response.writeHead(200, { 'content-length': bytes.byteLength }).end(bytes)
})
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
const origin = `http://localhost:${(server.address() as AddressInfo).port}/`
const from = values.webllm === undefined ? '@mlc-ai/web-llm' : pathToFileURL(resolve(values.webllm)).href
await becomePage(origin)

const engine = webllm({
  models: [
    {
      model: `${origin}test/model`,
      model_id: 'made-up',
      model_lib: `${origin}model.wasm`,
      overrides: { context_window_size: 512 },
    },
  ],
  loader: () => import(from) as Promise<WebLlmLibrary>,
  cache: false,
})

let failed = false
function expect(what: string, holds: boolean): void {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`)
  failed ||= !holds
}

const ask = async (part: Partial<ChatCall> = {}) => {
  const start = performance.now()
  const answer = await collect(engine.generate(call({ model: 'local/made-up', maxTokens: 4, ...part })), part.n)
  const seconds = (performance.now() - start) / 1000
  const { promptTokens, completionTokens, cachedTokens } = answer.usage
  console.log(`     ${promptTokens} (${cachedTokens} cached) + ${completionTokens} tokens in ${seconds.toFixed(1)} s`)
  return answer
}
const sampling = { ...call().sampling, temperature: 0 }

const phases = new Set<string>()
await engine.load!('local/made-up', ({ phase }) => phases.add(phase), new AbortController().signal)
expect(`it loads: ${[...phases].join(', ')}`, phases.has('ready'))

const first = await ask({ sampling, topLogprobs: 2 })
expect(
  'the greedy token is the most likely one',
  first.logprobs[0]!.every(({ logprob, top }) => logprob === top[0]!.logprob),
)
const again = await ask({ sampling })
expect('the same prompt has the same answer', again.texts[0] === first.texts[0])

const schema = {
  type: 'object',
  properties: { ok: { type: 'boolean' }, unit: { enum: ['celsius', 'kelvin'] } },
  required: ['ok', 'unit'],
  additionalProperties: false,
}
const grammar = compile(schema)
const output = { type: 'json_schema', name: 'x', strict: true, schema } as const
const document = await ask({ grammar, output, maxTokens: 30, describeSchema: false })
expect(`strict JSON: ${document.texts[0]}`, grammar.accepts(document.texts[0]!) && document.reasons[0] === 'stop')

const controller = new AbortController()
const endless = call({ model: 'local/made-up', maxTokens: 100, signal: controller.signal })
const left = engine.generate(endless)[Symbol.asyncIterator]()
await left.next()
controller.abort(new Error('left'))
expect(
  'an abort ends it',
  await left.next().then(
    () => false,
    (error: Error) => error.message === 'left',
  ),
)
expect('and the next answer is as before', (await ask({ sampling })).texts[0] === first.texts[0])

await engine.unload!('local/made-up')
expect('unloaded', engine.models[0]!.metadata?.loaded === false)
await engine.close!()
server.close()
process.exit(failed ? 1 : 0)
