/** What the kit does, part by part; each in a process of its own, with a time limit of its own. */
import type { Settings } from '../../src/bench/scenarios/scenario.js'
import { type Subject, TUNED } from './tuned.js'

/** By what matters most: time may be short. All of these take their GPU from test/support/swiftshader.ts, which the kit replaces. */
export const TEST_FILES = [
  'src/device/operations/project.test.ts',
  'src/device/operations/blocks.test.ts',
  'src/device/gpu/half.test.ts',
  'src/device/operations/attention.test.ts',
  'src/device/gpu/matrices.test.ts',
  'src/device/operations/sample.test.ts',
  'src/device/operations/twins.test.ts',
  'src/device/operations/overflow.test.ts',
  'src/device/operations/rows.test.ts',
  'src/device/operations/growing.test.ts',
  'src/device/operations/experts.test.ts',
  'src/models/decoder.test.ts',
  'src/models/kept-on-gpu.test.ts',
  'src/models/draft-head.test.ts',
  'src/models/draft-head-answers.test.ts',
  'src/models/architectures/families.test.ts',
  'src/models/encoders/blocks.test.ts',
  'src/models/encoders/encoders.test.ts',
  'src/models/encoders/gguf.test.ts',
  'src/models/encoders/laya.test.ts',
  'src/models/encoders/clef.test.ts',
  'src/models/encoders/d1-omni.test.ts',
  'src/models/pointing/pointing.test.ts',
  'src/models/core.test.ts',
  'src/engines/webgpu/row-head.test.ts',
  'src/engines/webgpu/decide-properties.test.ts',
  'src/device/gpu/device.test.ts',
  'src/device/gpu/tapes.test.ts',
] as const

export type Job =
  | { readonly kind: 'bound' }
  | { readonly kind: 'tests'; readonly file: number; readonly names: string }
  | { readonly kind: 'answers'; readonly requests: number }
  | { readonly kind: 'tune'; readonly subject: Subject; readonly software: boolean }
  | {
      readonly kind: 'bench'
      readonly model: string
      readonly cacheTokens: number
      readonly settings: Partial<Settings>
    }
  | {
      readonly kind: 'profile'
      readonly model: string
      readonly steps: number
      readonly runs: readonly { readonly prompt: number; readonly batch: number }[]
    }

export interface Part {
  readonly name: string
  readonly seconds: number
  /** Kept for it, whatever the parts before it take, where there is time for all that come before. */
  readonly least: number
  readonly job: Job
  /** Set before its process begins: in the bundle no module runs before those that it imports. */
  readonly env?: Readonly<Record<string, string>>
}

/** All of it, tables and files included. */
export const MINUTES = 8

export const LEAST_MINUTES = 1

/** For tables and files, after the last part, and for what is slow to end. */
export const REST = 15
/** To find the driver, however many there are; without one nothing can be tried. */
export const CHOOSING = { seconds: 60, least: 20 }

/** Of a part's seconds, so many are for what is under way when it should end, and for telling of it. */
export const endingOf = (seconds: number): number => Math.min(15, seconds / 3)

/**
 * The seconds of the first of `parts` when so many are left for all of them. What is kept for later ones is never more
 * than there is: where all of it does not fit, the last have nothing of their own.
 */
export function limitOf([part, ...later]: readonly Pick<Part, 'seconds' | 'least'>[], left: number): number {
  let kept = 0
  for (const { least } of later) {
    if (part!.least + kept + least > left) break
    kept += least
  }
  return Math.max(0, Math.min(part!.seconds, left - kept))
}

export const BOUND = "the adapter's bound"
const MODELS = ['made-up/Llama-3.2-1B-like', 'made-up/SmolLM2-135M-like']
const PROMPTS = [512, 4096]
const BATCHES = [1, 8]

/** The processor has been tried everywhere else, and its tests would take the time of those that need the GPU. */
const ON_GPU = "^(?!.* on ('|the )?(cpu|CPU))"
/** Those whose first import is `test/oracles/wide.ts`, and what that sets. */
const WIDE_FILES = /encoders\/blocks\.test/
const WIDE = { MODELS_WIDE: '1' }
/** The way of cutting the work that a GPU in software is quick at, and the files that need few compiled kernels. */
const IN_SOFTWARE = 'cut for software'
const QUICK_FILES = /(project|attention|sample|decoder)\.test/

/** Tests that come before all measuring: if these fail, the rest means little. */
const FIRST_FILES = 4

/** By what matters most. `quick`: small shapes and few tests, for a GPU in software. */
export function plan(quick: boolean): Part[] {
  const tests = TEST_FILES.map((path, file): Part[] => {
    if (quick && !QUICK_FILES.test(path)) return []
    const name = `tests of ${path.split('/').at(-1)!.replace('.test.ts', '')}${path.includes('encoders') ? ' (encoders)' : ''}`
    return [
      {
        name,
        seconds: 100,
        least: 7.5,
        job: { kind: 'tests', file, names: quick ? IN_SOFTWARE : ON_GPU },
        ...(WIDE_FILES.test(path) && { env: WIDE }),
      },
    ]
  })
  const [first = [], ...others] = quick ? [quickMeasures()] : MODELS.map(measures)
  const parts: Part[] = [
    { name: BOUND, seconds: 30, least: 12, job: { kind: 'bound' } },
    ...tests.slice(0, FIRST_FILES).flat(),
    ...first,
    { name: 'answers through /v1', seconds: 100, least: 12, job: { kind: 'answers', requests: quick ? 2 : 24 } },
    ...tests.slice(FIRST_FILES).flat(),
    ...others.flat(),
  ]
  // In software a kernel takes seconds to compile, and more where other programs compute too.
  return quick ? parts.map((part) => ({ ...part, seconds: part.seconds * 6 })) : parts
}

/** Those whose name contains one of these words, which commas divide. */
export function chosen(parts: readonly Part[], words: string): Part[] {
  const wanted = words
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '')
  return parts.filter(({ name }) => wanted.some((word) => name.toLowerCase().includes(word)))
}

/** Ways of cutting kernels, beside each other. */
export function tuning(quick: boolean): Part[] {
  const tuned = TUNED.map(
    (subject): Part => ({
      name: `tune ${subject}`,
      seconds: subject === 'whole prompts' ? 60 : 40,
      least: 12,
      job: { kind: 'tune', subject, software: quick },
    }),
  )
  return [{ name: BOUND, seconds: 10, least: 5, job: { kind: 'bound' } }, ...tuned]
}

function measures(model: string): Part[] {
  const longest = Math.max(...PROMPTS)
  const settings: Partial<Settings> = {
    only: ['prompt', 'decode', 'json'],
    promptLengths: PROMPTS,
    batches: BATCHES,
    tokens: 64,
    rounds: 2,
    leastSeconds: 0,
  }
  // Prompts come out a little longer than asked for.
  const cacheTokens = Math.max(...BATCHES) * Math.ceil(longest * 1.1 + 128)
  const runs = PROMPTS.flatMap((prompt) => BATCHES.map((batch) => ({ prompt, batch })))
  return [
    { name: `bench of ${model}`, seconds: 100, least: 50, job: { kind: 'bench', model, cacheTokens, settings } },
    { name: `profile of ${model}`, seconds: 80, least: 50, job: { kind: 'profile', model, steps: 8, runs } },
  ]
}

function quickMeasures(): Part[] {
  const model = 'made-up/nano-like'
  const settings: Partial<Settings> = {
    only: ['prompt', 'decode'],
    promptLengths: [32],
    batches: [1],
    tokens: 4,
    rounds: 1,
    leastSeconds: 0,
  }
  return [
    { name: `bench of ${model}`, seconds: 100, least: 50, job: { kind: 'bench', model, cacheTokens: 512, settings } },
    {
      name: `profile of ${model}`,
      seconds: 100,
      least: 50,
      job: { kind: 'profile', model, steps: 1, runs: [{ prompt: 4, batch: 1 }] },
    },
  ]
}
