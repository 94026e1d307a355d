/** Run by itself in Node, Deno and Bun: the checks of a chat model over `webgpu()`, in a worker and without. */
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'
import { engineChecks } from './engine.js'

const [from, tiny, worker, checks] = process.argv.slice(2)
const model = 'local-v1/nano'
const small = 'test/tiny'
const engine = webgpu({
  models: [
    { id: model, from: from! },
    { id: small, from: tiny! },
  ],
  device: 'cpu',
  log: () => {},
  ...(worker === 'off' && { worker: false }),
})
const { fetch } = createV1({ engine, keys: 'none', log: () => {} })

/** Nano's makers ask for a penalty of what was said, so that its greedy token need not be the most likely one. */
const ofNano = engineChecks.filter(({ name }) => name !== 'the greedy token is the most likely one')
const CHECKED: Readonly<Record<string, readonly [string, typeof engineChecks]>> = {
  tiny: [small, engineChecks],
  nano: [model, ofNano],
}
for (const which of checks!.split(',').filter((which) => which !== '')) {
  const [model, wanted] = CHECKED[which]!
  for (const { name, run } of wanted) {
    try {
      await run({ fetch, model, contextLength: 4096 })
    } catch (error) {
      console.log(`failed: ${name}, of ${model}: ${(error as Error).message}`)
    }
  }
}

/** Milliseconds of a processor that each thread has had; of this one, which is the first, before the others. */
function computed(): readonly number[] {
  const tasks = readdirSync('/proc/self/task').sort((a, b) => Number(a) - Number(b))
  return tasks.map((task) => Number(readFileSync(`/proc/self/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
}
const sum = (times: readonly number[]) => times.reduce((all, each) => all + each, 0)

// How much of what an answer computes this thread does, which is little to a made-up model; Linux alone tells.
const asked = checks === '' ? small : model
const linux = process.platform === 'linux'
const before = linux ? computed() : []
await fetch(
  new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: asked, messages: [{ role: 'user', content: 'word '.repeat(300) }], max_tokens: 2 }),
  }),
).then((response) => response.text())
const after = linux ? computed() : []
const used = linux ? (after[0]! - before[0]!) / (sum(after) - sum(before)) : null
const metadata = engine.models.find(({ id }) => id === asked)!.metadata!
console.log(
  `over: ${JSON.stringify({ worker: metadata.worker ?? null, reason: metadata.worker_reason ?? null, used })}`,
)
// Nothing is closed: a script that has come to its end ends.
