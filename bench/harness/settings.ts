import type { Settings } from './scenarios/scenario.js'

const FULL: Settings = { promptLengths: [32, 128, 512], batches: [1, 4, 8], tokens: 64, rounds: 5, leastSeconds: 1 }
/** To see that it runs, and how fast roughly. */
const QUICK: Settings = { promptLengths: [32], batches: [1, 4], tokens: 16, rounds: 2, leastSeconds: 0.1 }

/** What was asked for, and the usual for the rest. */
export function settingsOf(asked: Partial<Settings> & { readonly quick?: boolean }): Settings {
  const usual = asked.quick ? QUICK : FULL
  return {
    promptLengths: asked.promptLengths ?? usual.promptLengths,
    batches: asked.batches ?? usual.batches,
    tokens: asked.tokens ?? usual.tokens,
    rounds: asked.rounds ?? usual.rounds,
    leastSeconds: asked.leastSeconds ?? usual.leastSeconds,
  }
}
