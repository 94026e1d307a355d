import type { Part } from '../../src/contract/engine.js'
import type { Scenario } from './scenario.js'

const say = (...texts: string[]): Part[] => texts.map((text) => ({ type: 'text-delta', choice: 0, text }))
const stop: Part = { type: 'finish', choice: 0, reason: 'stop' }
const usage = (promptTokens: number, completionTokens: number, cachedTokens = 0): Part => ({
  type: 'usage',
  usage: { promptTokens, completionTokens, cachedTokens },
})

/** A step's text that fills any buffer between engine and reader within a few hundred steps. */
export const FLOOD_BYTES = 64 * 1024

/** The models of the contract, named for what they do. */
export const scenario: Scenario = {
  'test/hello': { parts: [...say('Hel', 'lo, ', 'wörld 🌍'), stop, usage(12, 3, 8)] },
  'test/echo': { parts: [...say('$last'), stop, usage(5, 1)] },
  'test/json': { parts: [...say('{"city":', '"Bern",', '"tags":["a"]}'), stop, usage(20, 9)] },
  'test/fields': { parts: [...say('{"due":', '"next Tuesday"}'), stop, usage(20, 5)] },
  'test/broken-json': { parts: [...say('{"city":'), stop, usage(20, 2)] },
  'test/tools': {
    parts: [
      { type: 'tool-call-delta', choice: 0, index: 0, id: 'call_one', name: 'weather', arguments: '' },
      { type: 'tool-call-delta', choice: 0, index: 0, arguments: '{"city":' },
      { type: 'tool-call-delta', choice: 0, index: 0, arguments: '"Bern"}' },
      { type: 'finish', choice: 0, reason: 'tool_calls' },
      usage(30, 7),
    ],
  },
  'test/brief': { delayMs: 20, parts: [...say('brief'), stop, usage(1, 1)] },
  'test/endless': { repeat: { text: 'tick ', everyMs: 5 } },
  'test/endless-deaf': { repeat: { text: 'tick ', everyMs: 5 }, deaf: true },
  'test/flood': { repeat: { text: 'x'.repeat(FLOOD_BYTES), everyMs: 0 } },
  'test/thinking': { delayMs: 60_000 },
  'test/every': {
    parts: [...say('Hel', 'lo, ', 'wörld 🌍'), stop, usage(12, 3)],
    capabilities: { embeddings: true, rerank: true, classify: true, decisions: true, tokens: true, infill: true },
  },
  'test/loading': { error: { status: 503, message: 'The model is being loaded.', retryAfter: 2 } },
  'test/crash': { crash: 'secret: the password is swordfish' },
  'test/crash-late': { parts: say('so far'), crash: 'secret: the password is swordfish' },
  'test/error-late': { parts: say('so far'), error: { status: 503, message: 'The device was lost.' } },
}
