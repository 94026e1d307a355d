import type { LogitProcessor } from '@mlc-ai/web-llm'
import { type Sampled, type SampleSettings, UNDRAWN } from '../../contract/index.js'
import { sampleRow } from '../../device/index.js'
import { sampleRowOf } from '../../models/index.js'

/** So far below the chosen token that its probability is 0 in f32. Finite: WGSL does not promise infinities. */
const NEVER = -1e30

/**
 * Chooses the token in WebLLM's place, by the definition of sampling that our own core follows, and leaves WebLLM's
 * sampler nothing else to find.
 */
export class LogitPicker implements LogitProcessor {
  readonly #tokens: number
  #scratch = new Float32Array(0)
  #wanted: SampleSettings | undefined
  #picked: Sampled | undefined

  /** `tokens`: the real ones; the logits beyond are padding. */
  constructor(tokens: number) {
    this.#tokens = tokens
  }

  /** How the next logits are sampled; undefined: not at all. */
  expect(wanted: SampleSettings | undefined): void {
    this.#wanted = wanted
    this.#picked = undefined
  }

  /** What was picked since `expect`. */
  take(): Sampled | undefined {
    const picked = this.#picked
    this.#picked = undefined
    return picked
  }

  processLogits = (logits: Float32Array): Float32Array => {
    let token = 0
    if (this.#wanted !== undefined) {
      const tokens = Math.min(this.#tokens, logits.length)
      if (this.#scratch.length < logits.length) this.#scratch = new Float32Array(logits.length)
      const scratch = this.#scratch.subarray(0, logits.length)
      const picked = sampleRow(logits, tokens, sampleRowOf(this.#wanted, 0), scratch)
      // Whoever asked finds nothing picked.
      if (picked.token !== UNDRAWN) {
        this.#picked = picked
        token = picked.token
      }
    }
    logits.fill(NEVER)
    logits[token] = 0
    return logits
  }

  processSampledToken = (): void => {}

  resetState = (): void => {}
}
