/** What a run found, as it stands in the JSON file. */
import { type Spread, spreadOf } from './stats.js'
import type { About } from './subject.js'

export interface BenchReading {
  /** What was measured, as `METRICS` names it. */
  readonly metric: Metric
  readonly promptTokens?: number
  readonly batch?: number
  readonly value: number
}

export type Metric = keyof typeof METRICS

/** Every figure there is: how a table calls it, its unit, and which way is better. */
export const METRICS = {
  'load-first': { label: 'load, the first time', unit: 's', better: 'less' },
  load: { label: 'load, again', unit: 's', better: 'less' },
  'prompt-tokens': { label: 'prompt, in tokens of the model', unit: 'tokens', better: 'more' },
  'first-token': { label: 'first token', unit: 'ms', better: 'less' },
  'first-token-cached': { label: 'first token, cached prompt', unit: 'ms', better: 'less' },
  'cached-ratio': { label: '  cached / computed', unit: 'x', better: 'less' },
  prefill: { label: 'reading the prompt', unit: 'tok/s', better: 'more' },
  decode: { label: 'decode', unit: 'tok/s', better: 'more' },
  'decode-gain': { label: '  against one stream', unit: 'x', better: 'more' },
  'json-plain': { label: 'plain text', unit: 'tok/s', better: 'more' },
  'json-strict': { label: 'strict JSON', unit: 'tok/s', better: 'more' },
  'json-ratio': { label: '  strict / plain', unit: 'x', better: 'more' },
  'json-fresh': { label: 'strict JSON, a new schema', unit: 'tok/s', better: 'more' },
  'json-valid': { label: '  documents that satisfy their schema', unit: '%', better: 'more' },
  'json-forced': { label: '  tokens decided by the grammar', unit: '%', better: 'more' },
  'json-mask': { label: '  mask, per drawn token', unit: 'us', better: 'less' },
  'json-grammar': { label: '  time spent in the grammar', unit: '%', better: 'less' },
  'json-compile': { label: '  compiling a schema', unit: 'ms', better: 'less' },
  'engine-alone': { label: 'the bare engine', unit: 'tok/s', better: 'more' },
  'through-v1': { label: 'through /v1, streamed', unit: 'tok/s', better: 'more' },
  'v1-ratio': { label: '  time streamed / bare', unit: 'x', better: 'less' },
  'through-v1-whole': { label: 'through /v1, whole', unit: 'tok/s', better: 'more' },
  'v1-whole-ratio': { label: '  time whole / bare', unit: 'x', better: 'less' },
  decide: { label: 'decisions', unit: '1/s', better: 'more' },
  'decide-ratio': { label: '  time / a prompt of the same length', unit: 'x', better: 'less' },
  'decide-again': { label: 'decisions, state already read', unit: '1/s', better: 'more' },
  'decide-again-ratio': { label: '  time / a prompt of the questions', unit: 'x', better: 'less' },
  'decide-json': { label: 'decisions as strict JSON', unit: '1/s', better: 'more' },
  'extract-plain': { label: 'plain text, of extractions', unit: 'tok/s', better: 'more' },
  'extract-strict': { label: 'strict extraction', unit: 'tok/s', better: 'more' },
  'extract-strict-ratio': { label: '  strict / plain', unit: 'x', better: 'more' },
  'extract-guessing': { label: 'strict extraction, with guesses', unit: 'tok/s', better: 'more' },
  'extract-guessing-ratio': { label: '  with guesses / plain', unit: 'x', better: 'more' },
  'extract-passes': { label: '  passes of an answer', unit: '', better: 'less' },
  'extract-guessing-passes': { label: '  and with guesses', unit: '', better: 'less' },
  'extract-saved-string': { label: '  strings: passes saved', unit: '%', better: 'more' },
  'extract-guesses-string': { label: '  strings: guesses of an answer', unit: '', better: 'more' },
  'extract-right-string': { label: '  strings: guesses that were right', unit: '%', better: 'more' },
  'extract-saved-number': { label: '  numbers: passes saved', unit: '%', better: 'more' },
  'extract-guesses-number': { label: '  numbers: guesses of an answer', unit: '', better: 'more' },
  'extract-right-number': { label: '  numbers: guesses that were right', unit: '%', better: 'more' },
  'extract-saved-date': { label: '  dates: passes saved', unit: '%', better: 'more' },
  'extract-guesses-date': { label: '  dates: guesses of an answer', unit: '', better: 'more' },
  'extract-right-date': { label: '  dates: guesses that were right', unit: '%', better: 'more' },
  'extract-saved-enum': { label: '  enums: passes saved', unit: '%', better: 'more' },
  'extract-guesses-enum': { label: '  enums: guesses of an answer', unit: '', better: 'more' },
  'extract-right-enum': { label: '  enums: guesses that were right', unit: '%', better: 'more' },
  'extract-saved-boolean': { label: '  booleans: passes saved', unit: '%', better: 'more' },
  'extract-guesses-boolean': { label: '  booleans: guesses of an answer', unit: '', better: 'more' },
  'extract-right-boolean': { label: '  booleans: guesses that were right', unit: '%', better: 'more' },
  'extract-saved-list': { label: '  lists: passes saved', unit: '%', better: 'more' },
  'extract-guesses-list': { label: '  lists: guesses of an answer', unit: '', better: 'more' },
  'extract-right-list': { label: '  lists: guesses that were right', unit: '%', better: 'more' },
  'extract-saved-form': { label: '  the form: passes saved', unit: '%', better: 'more' },
  'extract-guesses-form': { label: '  the form: guesses of an answer', unit: '', better: 'more' },
  'extract-right-form': { label: '  the form: guesses that were right', unit: '%', better: 'more' },
  'device-memory': { label: 'memory on the device', unit: 'MiB', better: 'less' },
  'process-memory': { label: 'memory of the process', unit: 'MiB', better: 'less' },
} as const

export interface Series extends Spread {
  readonly subject: string
  readonly metric: Metric
  readonly unit: string
  readonly promptTokens?: number
  readonly batch?: number
  /** One per round, in their order; where a round asked several times, the median of those. */
  readonly values: readonly number[]
}

export interface BenchReport {
  readonly kind: 'local-v1 bench'
  readonly format: 1
  readonly version: string
  readonly date: string
  readonly machine: Readonly<Record<string, string | number | boolean>>
  readonly settings: Readonly<Record<string, unknown>>
  readonly subjects: readonly (About & { readonly name: string })[]
  readonly series: readonly Series[]
  readonly notes: readonly string[]
}

/** Collects readings of the same thing over the rounds. */
export class Readings {
  readonly #series = new Map<string, { subject: string; reading: BenchReading; values: number[] }>()

  add(subject: string, readings: readonly BenchReading[]): void {
    for (const reading of readings) {
      const key = JSON.stringify([subject, reading.metric, reading.promptTokens, reading.batch])
      const known = this.#series.get(key)
      if (known === undefined) this.#series.set(key, { subject, reading, values: [reading.value] })
      else known.values.push(reading.value)
    }
  }

  series(): Series[] {
    return [...this.#series.values()].map(({ subject, reading: { value: _, ...rest }, values }) => ({
      subject,
      ...rest,
      unit: METRICS[rest.metric].unit,
      ...spreadOf(values),
      values,
    }))
  }
}
