import {
  type ChatCall,
  type DrawSettings,
  SAMPLING,
  SAMPLING_NAMES,
  type Sampled,
  type SampleSettings,
  type Sampling,
  type SamplingName,
  type SamplingSetting,
  samplingFrom,
  type TokenLogprob,
  USUAL_SAMPLING,
} from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'

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
  const { output, tools, toolChoice } = call
  // An answer with a form takes words from what it is asked about, for which a recommendation is not to punish it.
  const spared = output.type !== 'text' || (tools.length > 0 && toolChoice !== 'none')
  const { logitBias, seed } = call.sampling
  const settled: { -readonly [F in keyof SettledSampling]: SettledSampling[F] } = { ...USUAL_SAMPLING, logitBias, seed }
  for (const name of SAMPLING_NAMES) {
    const apt = spared && SAMPLING[name].acts === 'penalty' ? undefined : recommended[name]
    settled[name] = call.sampling[name] ?? apt ?? settled[name]
  }
  return settled
}

/** The likeliest token, as the model has it. */
export const GREEDY: SampleSettings = {
  temperature: 0,
  topP: 1,
  seed: 0,
  index: 0,
  presencePenalty: 0,
  frequencyPenalty: 0,
}

/** What is drawn from hangs on these; those that are as usual may be absent, but for two. */
export type Drawn = DrawSettings & Pick<SampleSettings, 'temperature' | 'topP'>

export function drawnBy(sampling: SettledSampling): Drawn {
  const { temperature, topP } = sampling
  const drawn: Record<string, number> = {}
  for (const name of SAMPLING_NAMES) {
    const { acts, usual } = SAMPLING[name]
    if (acts === 'draw' && sampling[name] !== usual) drawn[name] = sampling[name]
  }
  return { ...drawn, temperature, topP }
}

/** A seed of its own for each choice, so that equal requests give equal choices and the choices differ. */
export function seedOfChoice(seed: number | undefined, choice: number): number {
  if (seed === undefined) return crypto.getRandomValues(new Uint32Array(1))[0]!
  let mixed = (seed ^ Math.floor(seed / 0x1_0000_0000)) >>> 0
  if (choice === 0) return mixed
  mixed = Math.imul(mixed ^ Math.imul(choice, 0x9e3779b9), 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0
}

type Showing = Pick<ChatCall, 'tokensAsIds'>

/** Log probabilities in the form of the contract. */
export function logprobOf(sampled: Sampled, tokenizer: Tokenizer, call: Showing): TokenLogprob | undefined {
  if (sampled.logprob === undefined) return undefined
  const top = (sampled.top ?? []).map(({ token, logprob }) => ({ ...shownToken(token, tokenizer, call), logprob }))
  return { ...shownToken(sampled.token, tokenizer, call), logprob: sampled.logprob, top }
}

export function shownToken(
  token: number,
  tokenizer: Tokenizer,
  { tokensAsIds }: Showing,
): { token: string; bytes: number[] } {
  const shown = namedToken(token, tokenizer)
  return tokensAsIds ? { ...shown, token: `token_id:${token}` } : shown
}

function namedToken(token: number, tokenizer: Tokenizer): { token: string; bytes: number[] } {
  const bytes = tokenizer.bytes(token)
  if (bytes.length === 0) {
    // A control token says nothing, but it has a name, and clients read its bytes as those of every other.
    const name = tokenizer.name(token)
    return { token: name, bytes: [...new TextEncoder().encode(name)] }
  }
  return { token: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), bytes: [...bytes] }
}
