/** Bundled and run in other runtimes: a small model on their WebGPU, cut both ways. */
import { loadCore } from '../../models/load.js'
import { PRESETS, randomModel } from '../../models/random-model.test-helper.js'
import { openWebGpuDevice } from './index.js'

export interface Answer {
  readonly name: string
  readonly tokens: readonly number[]
}

/** Greedy tokens and drawn ones, by whether the work is cut for software. */
export async function answers(cuts: readonly boolean[], gpu?: GPU): Promise<Answer[]> {
  const { source } = randomModel(PRESETS[4]!, 'q4f16', 2)
  const found: Answer[] = []
  for (const serial of cuts) {
    const device = await openWebGpuDevice({ serial, ...(gpu ? { gpu } : {}) })
    const core = await loadCore(device, source, { contextLength: 64 })
    const tokens: number[] = []
    for (const temperature of [0, 0.8]) {
      const sample = { temperature, topP: 0.9, seed: 5, index: 0, presencePenalty: 0, frequencyPenalty: 0 }
      const sequence = core.open()
      // Cut for software, many rows are computed as few are, and each runtime compiles them anew, for seconds.
      const prompt = Array.from({ length: serial ? 1 : 20 }, (_, i) => (i * 7 + 3) % 80)
      for await (const [result] of core.run([{ sequence, tokens: prompt, sample }], 6)) tokens.push(result!.token)
    }
    await core.close()
    device.destroy()
    found.push({ name: serial ? 'cut for software' : 'cut for hardware', tokens })
  }
  return found
}

interface WorkerMessage {
  readonly source: { postMessage(message: unknown): void }
  waitUntil(done: Promise<unknown>): void
}

const scope = globalThis as unknown as {
  Deno?: unknown
  window?: unknown
  postMessage?: (message: unknown) => void
  registration?: unknown
  onmessage?: (event: WorkerMessage) => void
}
// Deno compiles shaders in its own way; Chromium as Node does, so that one cut is enough there.
if (scope.Deno) answers([true, false]).then((found) => console.log(JSON.stringify(found)))
else if (scope.registration) {
  // A service worker answers when it is asked: what it does otherwise may be cut short.
  scope.onmessage = (event) => event.waitUntil(answers([true]).then((found) => event.source.postMessage(found)))
} else if (scope.postMessage && !scope.window) answers([true]).then((found) => scope.postMessage!(found))
else if (scope.window) Object.assign(globalThis, { answers: answers([true]) })
