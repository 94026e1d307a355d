/** Run by itself in Node, Deno and Bun: the checks of a chat model over `webgpu()`, in a worker and without. */
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'
import { engineChecks } from './engine.js'

const [from, worker, checks] = process.argv.slice(2)
const model = 'local-v1/nano'
const engine = webgpu({
  models: [{ id: model, from: from! }],
  device: 'cpu',
  log: () => {},
  ...(worker === 'off' && { worker: false }),
})
const { fetch } = createV1({ engine, keys: 'none', log: () => {} })

/** Nano's makers ask for a penalty of what was said, so that its greedy token need not be the most likely one. */
const wanted = engineChecks.filter(({ name }) => name !== 'the greedy token is the most likely one')
for (const { name, run } of checks === 'none' ? [] : wanted) {
  try {
    await run({ fetch, model, contextLength: 4096 })
  } catch (error) {
    console.log(`failed: ${name}: ${(error as Error).message}`)
  }
}

/** Milliseconds of a processor that each thread has had; of this one, which is the first, before the others. */
function computed(): readonly number[] {
  const tasks = readdirSync('/proc/self/task').sort((a, b) => Number(a) - Number(b))
  return tasks.map((task) => Number(readFileSync(`/proc/self/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
}
const sum = (times: readonly number[]) => times.reduce((all, each) => all + each, 0)

// How much of what an answer computes this thread does; Linux alone tells.
const linux = process.platform === 'linux'
const before = linux ? computed() : []
await fetch(
  new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'word '.repeat(900) }], max_tokens: 2 }),
  }),
).then((response) => response.text())
const after = linux ? computed() : []
const used = linux ? (after[0]! - before[0]!) / (sum(after) - sum(before)) : null
const metadata = engine.models[0]!.metadata!
console.log(
  `over: ${JSON.stringify({ worker: metadata.worker ?? null, reason: metadata.worker_reason ?? null, used })}`,
)
// Nothing is closed: a script that has come to its end ends.
