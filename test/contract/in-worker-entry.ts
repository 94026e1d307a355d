/** Run by itself in Node, Deno and Bun: the checks of a chat model over `webgpu()`, in a worker and without. */

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

// How much of the time of an answer this thread is busy; Node alone tells.
const { eventLoopUtilization } = performance as Partial<typeof import('node:perf_hooks').performance>
const began = eventLoopUtilization?.()
await fetch(
  new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'word '.repeat(900) }], max_tokens: 2 }),
  }),
).then((response) => response.text())
const used = began ? eventLoopUtilization!(began).utilization : 0
const metadata = engine.models[0]!.metadata!
console.log(
  `over: ${JSON.stringify({ worker: metadata.worker ?? null, reason: metadata.worker_reason ?? null, used })}`,
)
// Nothing is closed: a script that has come to its end ends.
