/**
 * Two soaks. Ten thousand requests of all kinds to all endpoints over several models (`soak/mixed.ts`): usage is exact
 * to the token, and memory stays where it was. And a thousand, many of them left half-way, against the whole service
 * over a small model with random weights: afterwards no device buffer, no cache page and no unsettled promise is left.
 *
 * `tsx scripts/check-soak.ts [--mixed 10000] [--requests 1000] [--seed 1] [--device cpu|webgpu]`; webgpu is the software
 * one from npm.
 */
import { createHook } from 'node:async_hooks'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Device } from '../src/device/contract.js'
import { openCpuDevice } from '../src/device/cpu/index.js'
import { openWebGpuDevice } from '../src/device/gpu/index.js'
import { tinyRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { ChatText } from '../src/generate/chat-text.js'
import { DecodeLoop } from '../src/generate/decode-loop.js'
import { smallTokenizer } from '../src/generate/testing/small-tokenizer.test-helper.js'
import { createV1, type Engine, type V1 } from '../src/index.js'
import { loadCore } from '../src/models/load.js'
import { softwareGpu } from '../test/support/swiftshader.js'
import { mixed } from './soak/mixed.js'

const { values } = parseArgs({
  options: {
    mixed: { type: 'string', default: '10000' },
    requests: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    device: { type: 'string', default: 'cpu' },
  },
})
/** Small, so that a page which is lost is soon missed. */
const CONTEXT = 256
const CACHE = 768
/** Requests that run at once. */
const ABREAST = 12
const MODEL = 'test/tiny'

let state = Number(values.seed)
const random = (below: number) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * below)
}

setFlagsFromString('--expose_gc')
const collectGarbage = runInNewContext('gc') as () => void
const unsettled = new Set<number>()
const hook = createHook({
  init: (id, type) => void (type === 'PROMISE' && unsettled.add(id)),
  promiseResolve: (id) => void unsettled.delete(id),
  destroy: (id) => void unsettled.delete(id),
})

const SCHEMA = {
  type: 'object',
  properties: {
    title: { type: 'string', maxLength: 20 },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 5 },
  },
  required: ['title', 'tags'],
  additionalProperties: false,
}
const PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string', maxLength: 10 } },
  required: ['city'],
  additionalProperties: false,
}

function body(stream: boolean) {
  const words = Array.from({ length: random(30) }, () => ['quick', 'brown', 'fox', 'the', 'Paris'][random(5)])
  const base = {
    model: MODEL,
    stream,
    messages: [{ role: 'user', content: words.join(' ') }],
    max_tokens: 30 + random(60),
  }
  const kinds = [
    {},
    { n: 3, temperature: 0.7 },
    { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: SCHEMA } } },
    {
      tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: PARAMETERS } }],
      tool_choice: 'required',
    },
    { logprobs: true, top_logprobs: 2, stop: ['the', 'x'] },
    { response_format: { type: 'json_object' }, frequency_penalty: 0.5 },
  ]
  return { ...base, ...kinds[random(kinds.length)] }
}

/** One request: read to its end, left after some chunks, or aborted after some time. */
async function ask(v1: V1): Promise<string> {
  const stream = random(3) > 0
  const controller = new AbortController()
  const leave = random(2) === 0
  const timer = leave && random(2) === 0 ? setTimeout(() => controller.abort(), random(40)) : undefined
  try {
    const request = new Request('http://device/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body(stream)),
      signal: controller.signal,
    })
    const response = await v1.fetch(request)
    if (response.status !== 200 && response.status !== 499)
      throw new Error(`${response.status}: ${await response.text()}`)
    const reader = response.body!.getReader()
    for (let chunks = random(20); ; chunks--) {
      if (leave && stream && timer === undefined && chunks <= 0) {
        await reader.cancel()
        return 'left'
      }
      if ((await reader.read()).done) return controller.signal.aborted ? 'aborted' : 'answered'
    }
  } catch (error) {
    if (controller.signal.aborted) return 'aborted'
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function main(): Promise<void> {
  const device: Device =
    values.device === 'cpu' ? await openCpuDevice({ threads: 1 }) : await openWebGpuDevice({ gpu: await softwareGpu() })
  const text = new ChatText(smallTokenizer())
  const core = await loadCore(device, tinyRepository().source, {
    tokens: text.tokenizer.size,
    contextLength: CONTEXT,
    cacheTokens: CACHE,
  })
  const pages = core.freeTokens
  const decoder = new DecodeLoop(core, text)
  const engine: Engine = {
    models: [{ id: MODEL, ownedBy: 'test' }],
    generate: (call) => decoder.generate(call),
    close: () => decoder.close(),
  }
  const v1 = createV1({ engine, keys: 'none', maxInFlight: ABREAST, log: () => {} })
  // A device keeps a few buffers to read back with; how many is settled early.
  for (let i = 0; i < 2 * ABREAST; i++) await Promise.all([ask(v1), ask(v1), ask(v1)])
  const { buffers } = device.memory
  hook.enable()
  const before = process.memoryUsage().heapUsed
  const outcomes: Record<string, number> = {}
  let left = Number(values.requests)
  const worker = async () => {
    while (left-- > 0) {
      const outcome = await ask(v1)
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: ABREAST }, worker))
  const problems: string[] = []
  await settle()
  const promises = unsettled.size
  hook.disable()
  // The service's own timers and this script's awaits are a handful; a promise lost per request would be hundreds.
  if (promises > ABREAST * 5) problems.push(`${promises} promises that were never settled`)
  if (device.memory.buffers > buffers)
    problems.push(`${device.memory.buffers - buffers} more device buffers than at the start`)
  await v1.close()
  if (core.freeTokens !== pages) problems.push(`${pages - core.freeTokens} tokens of the cache`)
  device.destroy()
  if (device.memory.buffers > 0) problems.push(`${device.memory.buffers} device buffers after everything was closed`)
  console.log(`${values.requests} requests on ${device.info.kind}:`, outcomes)
  console.log(`${promises} promises unsettled, ${buffers} buffers in use`)
  console.log(`heap ${megabytes(before)} before, ${megabytes(process.memoryUsage().heapUsed)} after`)
  for (const problem of problems) console.error(`LEAK: ${problem}`)
  if (problems.length > 0) process.exitCode = 1
  else console.log('No buffer, page or promise is left.')
}

/** Waits for what runs on, and drops what nobody holds. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    collectGarbage()
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

const wrong = Number(values.mixed) > 0 ? await mixed(Number(values.mixed), Number(values.seed), collectGarbage) : []
for (const problem of wrong) console.error(`WRONG: ${problem}`)
if (wrong.length > 0) process.exitCode = 1
await main()
