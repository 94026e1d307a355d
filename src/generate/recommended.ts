import {
  type ChatCall,
  SAMPLING,
  type Sampling,
  type SamplingName,
  type SamplingSetting,
  samplingFrom,
  USUAL_SAMPLING,
} from '../contract/index.js'
import type { JsonObject } from '../platform/index.js'

/** How a model's makers say that it is best asked, as far as they say it. */
export type Recommended = Readonly<Partial<Record<SamplingName, number | undefined>>>

/** The settings by which an answer is made. */
export type SettledSampling = Pick<Sampling, 'logitBias' | 'seed'> & Readonly<Record<SamplingName, number>>

interface SamplingFiles {
  readonly generationConfig?: JsonObject
  readonly chatConfig?: JsonObject
}

/**
 * From `generation_config.json`, or the chat configuration of MLC, where transformers and MLC call settings as requests do;
 * what a request could not ask for is passed over, as is what sets no limit.
 */
export function recommendedOf({ generationConfig, chatConfig }: SamplingFiles): Recommended {
  // The configuration of transformers repeats settings that nobody chose.
  const sources = [generationConfig, chatConfig?.conv_template === undefined ? undefined : chatConfig]
  return samplingFrom((setting) =>
    sources.map((source) => within(source, setting)).find((value) => value !== undefined),
  )
}

function within(
  source: JsonObject | undefined,
  { wire, least, most, floor = Number.NEGATIVE_INFINITY }: SamplingSetting,
): number | undefined {
  const value = source?.[wire]
  return typeof value === 'number' && value >= least && value <= most && value > floor ? value : undefined
}

/** What the request says, else what the model's makers recommend, else what is usual. */
export function settledSampling(call: ChatCall, recommended: Recommended): SettledSampling {
  const spared = copies(call)
  const apt = Object.entries(recommended).filter(([name]) => {
    return !spared || SAMPLING[name as SamplingName].acts !== 'penalty'
  })
  return { ...USUAL_SAMPLING, ...said(Object.fromEntries(apt)), ...said(call.sampling) }
}

/** An answer with a form takes words from what it is asked about, for which a recommendation is not to punish it. */
function copies({ output, tools, toolChoice }: ChatCall): boolean {
  return output.type !== 'text' || (tools.length > 0 && toolChoice !== 'none')
}

function said<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}
