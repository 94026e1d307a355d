import type { Capabilities, ClassifyCall, Engine, RankCall } from '../../contract/engine.js'
import { scripted } from '../../engines/scripted.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { MODEL, serviceOf } from '../v1.test-helper.js'

const CAN: Capabilities = { rerank: true, classify: true, embeddings: true }

/**
 * A service over an engine that reads texts whole: a pair scores by the letters of its document, a text's class by its
 * own, each letter a token. `methods` replaces what it tells.
 */
export function readingTexts(
  capabilities: Capabilities = CAN,
  methods: Partial<Pick<Engine, 'rank' | 'classify'>> = {},
) {
  const ranked: RankCall[] = []
  const classified: ClassifyCall[] = []
  const counted: UsageEvent[] = []
  const engine: Engine = {
    ...scripted({
      models: { [MODEL]: 'Hi' },
      capabilities,
      embed: (input, dimensions = 2) => Array.from({ length: dimensions }, (_, i) => input.length + i / 2),
    }),
    async rank(call) {
      ranked.push(call)
      const { query, documents } = call
      const letters = documents.reduce((sum, { length }) => sum + length, query.length)
      return { scores: documents.map(({ length }) => length / 100), promptTokens: letters }
    },
    async classify(call) {
      classified.push(call)
      const probabilities = call.inputs.map(({ length }) => (length > 3 ? [0.25, 0.75] : [0.875, 0.125]))
      return {
        probabilities,
        labels: ['short', 'long'],
        promptTokens: call.inputs.reduce((sum, { length }) => sum + length, 0),
      }
    },
    ...methods,
  }
  return { ranked, classified, counted, ...serviceOf(engine, { onUsage: (event) => counted.push(event) }) }
}
