/** Tokens a second over all streams, each behind a prompt of its own that is in the cache already. */

import type { BenchReading } from '../report.js'
import type { Subject } from '../subject.js'
import { now } from '../time.js'
import type { Scenario } from './scenario.js'
import { fits, freshPrompt } from './scenario.js'

export function decode(promptTokens: number, batches: readonly number[], tokens: number): Scenario {
  return {
    part: 'decode',
    name: `decode after ${promptTokens}`,
    suits: (subject) => fits(subject, promptTokens + tokens),
    async run(subject) {
      const speeds = new Map<number, number>()
      for (const batch of batches) speeds.set(batch, await speedOf(subject, { promptTokens, batch, tokens }))
      const one = speeds.get(1)
      const readings: BenchReading[] = []
      for (const [batch, value] of speeds) {
        readings.push({ metric: 'decode', promptTokens, batch, value })
        if (batch > 1 && one !== undefined)
          readings.push({ metric: 'decode-gain', promptTokens, batch, value: value / one })
      }
      return readings
    },
  }
}

/** All tokens over the whole time, from the first call to the end of the last answer: nothing is left out. */
async function speedOf(
  subject: Subject,
  { promptTokens, batch, tokens }: { promptTokens: number; batch: number; tokens: number },
): Promise<number> {
  const prompts = Array.from({ length: batch }, freshPrompt)
  for (const prompt of prompts) await subject.answer({ promptTokens, prompt, tokens: 1 })
  const start = now()
  const answers = await Promise.all(prompts.map((prompt) => subject.answer({ promptTokens, prompt, tokens })))
  const seconds = (now() - start) / 1000
  return answers.reduce((sum, answer) => sum + answer.tokens, 0) / seconds
}
