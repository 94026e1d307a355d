/** Bundled, with WebLLM itself, and run in each runtime: the checks, then the speed beside WebLLM's own chat. */

import type { Engine } from '../../src/contract/engine.js'
import { createV1 } from '../../src/index.js'
import { type Check, engineChecks, type Served } from '../../test/contract/engine.js'

export interface Wanted {
  /** Where the model, the library and this script are served. */
  readonly origin: string
  /** `here`: in this thread; `worker`: in one of its own; `default`: as `local-v1/webllm` decides. */
  readonly how: 'here' | 'worker' | 'default'
  readonly contextLength: number
  /** Only the checks whose names contain one of these; absent: all. */
  readonly only?: readonly string[]
}

export const MODEL = 'local/made-up'

export const recordAt = (origin: string) => ({
  model: `${origin}/model`,
  model_id: 'made-up',
  model_lib: `${origin}/model.wasm`,
})

/** Prints a line for each check; whether all hold. */
export async function runChecks(engine: Engine, wanted: Wanted, say: (line: string) => void): Promise<boolean> {
  const v1 = createV1({ engine, keys: 'none', loadWaitMs: 600_000, describeSchema: false })
  const phases = new Set<string>()
  await timed(say, 'it loads', () => v1.load(MODEL, ({ phase }) => phases.add(phase)))
  say(`     ${[...phases].join(', ')}`)
  const served: Served = { fetch: v1.fetch, model: MODEL, contextLength: wanted.contextLength }
  let whole = true
  for (const check of engineChecks.filter(({ name }) => (wanted.only ?? ['']).some((part) => name.includes(part)))) {
    whole = (await judged(say, check, served)) && whole
  }
  await v1.unload(MODEL)
  await v1.close()
  return whole
}

async function judged(say: (line: string) => void, check: Check, served: Served): Promise<boolean> {
  try {
    await timed(say, check.name, () => check.run(served))
    return true
  } catch (error) {
    say(`FAIL ${check.name}: ${String(error)}`)
    return false
  }
}

async function timed(say: (line: string) => void, name: string, action: () => Promise<unknown>): Promise<void> {
  const start = performance.now()
  await action()
  say(`ok   ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
}
