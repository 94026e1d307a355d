import type { ChatCall, Sampling } from '../engine.js'
import type { JsonObject } from '../platform/json.js'
import type { TextFiles } from './chat-text.js'

/** How a model's makers say that it is best asked, as far as they say it. */
export type Recommended = Pick<Sampling, (typeof FIELDS)[number][0]>

/** The settings by which an answer is made. */
export type SettledSampling = Sampling & Required<Pick<Sampling, keyof typeof USUAL>>

/** What clients of this interface expect where nobody says anything. */
const USUAL = { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0 }

/** By the names that transformers and MLC write; each with the least and the most that a request may ask for. */
const FIELDS = [
  ['temperature', 'temperature', 0, 2],
  ['topP', 'top_p', 0, 1],
  ['topK', 'top_k', 1, 2 ** 31 - 1],
  ['minP', 'min_p', 0, 1],
  ['presencePenalty', 'presence_penalty', -2, 2],
  ['frequencyPenalty', 'frequency_penalty', -2, 2],
  ['repetitionPenalty', 'repetition_penalty', 0.01, 100],
] as const

/** From `generation_config.json`, or the chat configuration of MLC; what a request could not ask for is passed over. */
export function recommendedOf({ generationConfig, chatConfig }: TextFiles): Recommended {
  // The configuration of transformers repeats settings that nobody chose.
  const sources = [generationConfig, chatConfig?.conv_template === undefined ? undefined : chatConfig]
  const found: { -readonly [K in keyof Recommended]: Recommended[K] } = {}
  for (const [field, name, least, most] of FIELDS) {
    found[field] = sources.map((source) => within(source, name, least, most)).find((value) => value !== undefined)
  }
  return found
}

function within(source: JsonObject | undefined, name: string, least: number, most: number): number | undefined {
  const value = source?.[name]
  return typeof value === 'number' && value >= least && value <= most ? value : undefined
}

/** What the request says, else what the model's makers recommend, else what is usual. */
export function settledSampling(call: ChatCall, recommended: Recommended): SettledSampling {
  const { repetitionPenalty, presencePenalty, frequencyPenalty, ...likely } = recommended
  const penalties = copies(call) ? {} : { repetitionPenalty, presencePenalty, frequencyPenalty }
  return { ...USUAL, ...said(likely), ...said(penalties), ...said(call.sampling) }
}

/** An answer with a form takes words from what it is asked about, for which a recommendation is not to punish it. */
function copies({ output, tools, toolChoice }: ChatCall): boolean {
  return output.type !== 'text' || (tools.length > 0 && toolChoice !== 'none')
}

function said<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}
