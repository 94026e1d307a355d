import type { Mode } from './address.js'
import type { SamplingFields } from './api.js'
import { keepValue, keptValue } from './kept.js'

/** What the user set, kept in this browser. */
export interface Settings {
  readonly model: string
  readonly project: string
  readonly temperature: string
  readonly topP: string
  readonly maxTokens: string
  readonly seed: string
  readonly system: string
  readonly theme: 'auto' | 'light' | 'dark'
  readonly mode: Mode
}

const KEY = 'local-v1 playground'
const DEFAULTS: Settings = {
  model: '',
  project: 'demo/playground',
  temperature: '0',
  topP: '',
  maxTokens: '400',
  seed: '',
  system: '',
  theme: 'auto',
  mode: 'structured',
}

let current: Settings = { ...DEFAULTS, ...keptValue<Partial<Settings>>(KEY) }

export const settings = (): Settings => current

export function set(change: Partial<Settings>): void {
  current = { ...current, ...change }
  // What another tab set meanwhile stays.
  keepValue(KEY, { ...keptValue<Partial<Settings>>(KEY), ...change })
}

/** The fields of a request that the settings fill. A field that is no number is sent as it is: `/v1` says what is wrong. */
export function samplingFields(): SamplingFields {
  const { temperature, topP, maxTokens, seed } = current
  return {
    ...(temperature !== '' && { temperature: numberOr(temperature) }),
    ...(topP !== '' && { top_p: numberOr(topP) }),
    ...(maxTokens !== '' && { max_tokens: numberOr(maxTokens) }),
    ...(seed !== '' && { seed: numberOr(seed) }),
  }
}

const numberOr = (text: string): number | string => (Number.isFinite(Number(text)) ? Number(text) : text)
