/** What `bench:families` measures: a row for each model, form, number of threads and length, in the order of their files. */

import { InvalidArgumentError } from 'commander'
import { type BlockName, FORMS } from './blocks.js'
import { FAMILIES, type Family, FULL } from './models.js'

export interface Options {
  readonly peers: string
  /** Whole models, with all their layers and words. */
  readonly full?: boolean
  readonly quick?: boolean
  /** Ours in a page. */
  readonly chromium?: boolean
  /** Ours with kernels in 256 bits. */
  readonly revectorize?: boolean
  readonly threads?: readonly number[]
  readonly prompts?: readonly number[]
  readonly behind?: readonly number[]
  readonly type?: readonly BlockName[]
  readonly only?: RegExp
  readonly rounds: number
  readonly tokens: number
  readonly seconds: number
  readonly folder?: string
}

export interface Row {
  readonly family: Family
  readonly type: BlockName
  readonly threads: number
  /** Reading so many tokens, or writing behind them. */
  readonly what: 'prompt' | 'decode'
  readonly length: number
}

type Lists = Required<Pick<Options, 'threads' | 'prompts' | 'behind' | 'type'>>

/** What is measured of whole models, and of those that are one of a family. */
const USUAL: Readonly<Record<'full' | 'thin', Lists>> = {
  full: { threads: [1, 2], prompts: [512, 2048], behind: [512, 8000], type: ['Q4_0', 'Q4_K_M', 'Q8_0', 'F16'] },
  thin: { threads: [1], prompts: [], behind: [32], type: ['Q4_0', 'Q4_K'] },
}
/** To see that it runs. */
const QUICK: Pick<Lists, 'prompts' | 'behind'> = { prompts: [32], behind: [32, 64] }

export function rowsOf(wanted: readonly string[], options: Options): Row[] {
  const { threads, prompts, behind, type } = {
    ...USUAL[options.full ? 'full' : 'thin'],
    ...(options.quick && QUICK),
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
  } as Lists
  const families = options.full ? FULL : FAMILIES
  const known = families.flatMap(({ like, architecture }) => [like, architecture])
  const strange = wanted.find((name) => !known.includes(name))
  if (strange !== undefined) throw new TypeError(`"${strange}" is none of ${known.join(', ')}.`)
  const kinds = [
    ...prompts.map((length) => ({ what: 'prompt', length }) as const),
    // The shorter first: the longer goes on from it.
    ...[...behind].sort((a, b) => a - b).map((length) => ({ what: 'decode', length }) as const),
  ]
  return families
    .filter(({ like, architecture }) => wanted.length === 0 || wanted.includes(like) || wanted.includes(architecture))
    .flatMap((family) => type.map((type) => ({ family, type })))
    .flatMap((file) => threads.map((threads) => ({ ...file, threads })))
    .flatMap((turn) => kinds.map((kind): Row => ({ ...turn, ...kind })))
    .filter((row) => options.only?.test(labelOf(row)) ?? true)
}

/** By which `--only` selects. */
export function labelOf({ family, type, threads, what, length }: Row): string {
  const work = what === 'prompt' ? `prompt of ${length}` : `decode behind ${length}`
  return `${family.like} ${type}, ${threads === 1 ? '1 thread' : `${threads} threads`}, ${work}`
}

/** Neighbours of one kind together. */
export function runsOf<T>(all: readonly T[], kindOf: (one: T) => string): T[][] {
  const runs: T[][] = []
  for (const one of all) {
    const last = runs.at(-1)
    if (last && kindOf(last[0]!) === kindOf(one)) last.push(one)
    else runs.push([one])
  }
  return runs
}

/** Separated by commas. */
export function numbers(value: string): number[] {
  return value.split(',').map((one) => {
    if (!/^[1-9]\d*$/.test(one)) throw new InvalidArgumentError(`"${one}" is no whole number above 0.`)
    return Number(one)
  })
}

export function formOf(value: string, before: readonly BlockName[] = []): BlockName[] {
  const form = FORMS.find((one) => one === value)
  if (form === undefined) throw new InvalidArgumentError(`"${value}" is none of ${FORMS.join(', ')}.`)
  return [...before, form]
}
