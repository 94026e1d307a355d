/** From a prompt to its first token: computed, and with the prompt still in the cache. */
import type { Scenario } from './scenario.js'
import { fits, freshPrompt } from './scenario.js'

export function firstToken(promptTokens: number): Scenario {
  return {
    part: 'prompt',
    name: `first token after ${promptTokens}`,
    suits: (subject) => fits(subject, promptTokens + 1),
    async run(subject) {
      const ask = { promptTokens, prompt: freshPrompt(), tokens: 1 }
      const computed = await subject.answer(ask)
      const cached = await subject.answer(ask)
      // What the chat template puts before every prompt may be known already: it is not counted as computed.
      const fresh = computed.promptTokens - computed.cachedTokens
      return [
        { metric: 'prompt-tokens', promptTokens, value: computed.promptTokens },
        { metric: 'first-token', promptTokens, value: computed.firstSeconds * 1000 },
        ...(fresh > 0 ? [{ metric: 'prefill', promptTokens, value: fresh / computed.firstSeconds } as const] : []),
        // An engine without such a cache computes it all again: there is nothing to compare.
        ...(cached.cachedTokens === 0
          ? []
          : ([
              { metric: 'first-token-cached', promptTokens, value: cached.firstSeconds * 1000 },
              { metric: 'cached-ratio', promptTokens, value: cached.firstSeconds / computed.firstSeconds },
            ] as const)),
      ]
    },
  }
}
