/**
 * The numbers by which tokens are drawn, once each: how requests call them, what they may be, and who knows them. Readers
 * of requests, capabilities, recommendations, what other servers are asked, the guides and the fuzzer go by this table;
 * what a setting does stands where it acts.
 */
import type { Sampling } from './engine.js'

export type SamplingName = Exclude<keyof Sampling, 'logitBias' | 'seed'>

export interface SamplingSetting {
  /** In requests: as OpenAI, vLLM or llama.cpp's server calls it. */
  readonly wire: string
  /** Ollama's own name, or none of its. @default the same */
  readonly ollama?: string | false
  readonly least: number
  readonly most: number
  readonly whole?: true
  /** What is below means so much: that there is no limit is written in several ways. */
  readonly floor?: number
  /** Where nobody says anything; it changes nothing. */
  readonly usual: number
  /** Servers of open models alone know it. */
  readonly local?: true
  /**
   * `draw`: what is drawn from hangs on it, in the sampler of a device (`device/sampling.ts`). `penalty`: what was
   * said before is made less likely, which answers that copy are spared where only the model's makers ask for it.
   */
  readonly acts: 'draw' | 'penalty'
}

const MOST = 2 ** 31 - 1
const XTC = { least: 0, most: 1, ollama: false, local: true, acts: 'draw' } as const
const DRY = { ollama: false, local: true, acts: 'penalty' } as const

const TABLE = {
  temperature: { wire: 'temperature', least: 0, most: 2, usual: 1, acts: 'draw' },
  topP: { wire: 'top_p', least: 0, most: 1, usual: 1, acts: 'draw' },
  topK: { wire: 'top_k', least: -1, most: MOST, whole: true, floor: 0, usual: 0, local: true, acts: 'draw' },
  minP: { wire: 'min_p', least: 0, most: 1, usual: 0, local: true, acts: 'draw' },
  typicalP: { wire: 'typical_p', least: 0, most: 1, usual: 1, local: true, acts: 'draw' },
  xtcProbability: { wire: 'xtc_probability', usual: 0, ...XTC },
  xtcThreshold: { wire: 'xtc_threshold', usual: 0.1, ...XTC },
  presencePenalty: { wire: 'presence_penalty', least: -2, most: 2, usual: 0, acts: 'penalty' },
  frequencyPenalty: { wire: 'frequency_penalty', least: -2, most: 2, usual: 0, acts: 'penalty' },
  // Wide enough for any use, and far from where numbers of 32 bits end.
  repetitionPenalty: {
    ...{ wire: 'repetition_penalty', ollama: 'repeat_penalty', least: 0.01, most: 100, usual: 1 },
    ...({ local: true, acts: 'penalty' } as const),
  },
  dryMultiplier: { wire: 'dry_multiplier', least: 0, most: 100, usual: 0, ...DRY },
  dryBase: { wire: 'dry_base', least: 1, most: 10, usual: 1.75, ...DRY },
  dryAllowedLength: { wire: 'dry_allowed_length', least: 1, most: MOST, whole: true, usual: 2, ...DRY },
  dryPenaltyLastN: { wire: 'dry_penalty_last_n', least: -1, most: MOST, whole: true, usual: -1, ...DRY },
} as const satisfies { readonly [N in SamplingName]: SamplingSetting }

export const SAMPLING: { readonly [N in SamplingName]: SamplingSetting } = TABLE

/** Those that what is drawn from hangs on, as a device is told them; what is absent is as usual. */
export type DrawSettings = Pick<
  Sampling,
  { [N in SamplingName]: (typeof TABLE)[N]['acts'] extends 'draw' ? N : never }[SamplingName]
>

export const SAMPLING_NAMES = Object.keys(SAMPLING) as readonly SamplingName[]

/** Those that servers of open models alone know. */
const LOCAL = SAMPLING_NAMES.filter((name) => SAMPLING[name].local)
const COMMON = SAMPLING_NAMES.filter((name) => !SAMPLING[name].local)

/** What draws as if nothing was asked for. */
export const USUAL_SAMPLING = Object.fromEntries(
  SAMPLING_NAMES.map((name) => [name, SAMPLING[name].usual]),
) as Readonly<Record<SamplingName, number>>

/** Each as `read` finds it; undefined where it is not there. In a loop, as every request is read by it. */
export function samplingFrom(
  read: (setting: SamplingSetting) => number | undefined,
): Record<SamplingName, number | undefined> {
  const values = {} as Record<SamplingName, number | undefined>
  for (const name of SAMPLING_NAMES) {
    const setting = SAMPLING[name]
    const value = read(setting)
    values[name] = value === undefined || setting.floor === undefined ? value : Math.max(setting.floor, value)
  }
  return values
}

/** What is asked for, by the names of the wire. */
export function onTheWire(sampling: Sampling): Record<string, number> {
  const given = SAMPLING_NAMES.filter((name) => sampling[name] !== undefined)
  return Object.fromEntries(given.map((name) => [SAMPLING[name].wire, sampling[name]!]))
}

/** What servers of open models alone know, and changes something. */
export const localSampling = (sampling: Sampling): SamplingName[] =>
  LOCAL.filter((name) => sampling[name] !== undefined && sampling[name] !== SAMPLING[name].usual)

/** Without what servers of open models alone know. */
export function commonSampling(sampling: Sampling): Sampling {
  const { logitBias, seed } = sampling
  const common: { -readonly [F in keyof Sampling]: Sampling[F] } = { logitBias, seed }
  for (const name of COMMON) common[name] = sampling[name]
  return common
}
