/** Whether a model keeps keys and values in 8 bits: it is asked itself, over a text, once. */
import type { Tokenizer } from '../../generate/index.js'
import { type CacheTrial, type LoadPlan, MOST_TRIAL_COST } from '../../models/index.js'
import type { OfferedModel } from './options.js'
import type { Surroundings } from './surroundings.js'

/** The tokens of the text that are read; it has more by any tokenizer that knows words. */
const TRIAL_TOKENS = 128

/** Names, numbers, a list, direct speech, and things that come back: what a cache has to keep apart. */
const TEXT = `The night train from Vienna left platform 9 at 22:40 with eleven carriages and 312 passengers. Mira Holm, who had booked seat 47 in carriage 6, found an old man asleep in it. "Excuse me," she said, "I think this is my seat." He looked at his ticket, which said seat 74, laughed, and moved across the aisle. They talked until Linz. He repaired clocks: tower clocks, pocket watches, and once the clock of a lighthouse on the island of Vis. She was on her way to Zurich to sell three things: a violin, a map of the Danube from 1786, and a letter that nobody had ever opened. When the train stopped at Salzburg, shortly after one in the morning, the old man gave Mira his card and said that the clock of the lighthouse had never been late again.`

/** What a model's cache is in, and why, where that was for it to say. */
export interface CostVerdict {
  readonly isPacked: boolean
  readonly why: string
}

/** Costs that were measured since this started, by what they hang on. */
export type KnownCosts = Map<string, number>

export interface CacheTrialOptions {
  readonly model: OfferedModel
  readonly plan: LoadPlan
  readonly tokenizer: Tokenizer
  readonly surroundings: Pick<Surroundings, 'notedCost' | 'noteCost'>
  readonly known: KnownCosts
  readonly signal: AbortSignal
  onChoice(choice: CostVerdict): void
}

/** For who loads a model that is to be asked. A trial that fails decides for f16, and is held again the next time. */
export function cacheTrial({
  model,
  plan,
  tokenizer,
  surroundings,
  known,
  signal,
  onChoice,
}: CacheTrialOptions): CacheTrial {
  const text = tokenizer.opened(tokenizer.encode(TEXT)).slice(0, Math.min(TRIAL_TOKENS, plan.size.contextLength))
  const choose = (choice: CostVerdict) => {
    onChoice(choice)
    return choice.isPacked
  }
  return {
    text,
    async choose(identity, measure) {
      const noted = known.get(identity) ?? (await surroundings.notedCost?.(model, identity))
      if (noted !== undefined) return choose(choiceOf(noted, text.length))
      let cost: number
      try {
        cost = await measure()
      } catch (error) {
        if (signal.aborted) throw error
        const reason = error instanceof Error ? error.message : String(error)
        return choose({ isPacked: false, why: `8 bits could not be tried: ${reason}` })
      }
      // What is no number is reported, and not kept.
      if (Number.isFinite(cost)) {
        known.set(identity, cost)
        await surroundings.noteCost?.(model, identity, cost)
      }
      return choose(choiceOf(cost, text.length))
    },
  }
}

function choiceOf(cost: number, tokens: number): CostVerdict {
  const isPacked = cost < MOST_TRIAL_COST
  const bound = isPacked ? 'less' : 'not less'
  const why = `8 bits cost ${Number(cost.toPrecision(3))} nats over ${tokens} tokens, ${bound} than ${MOST_TRIAL_COST}`
  return { isPacked, why }
}
