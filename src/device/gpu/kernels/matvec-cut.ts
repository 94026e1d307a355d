/** How the work of a product with few rows is shared out. */
import { isBlockType } from '../../../platform/index.js'
import { groupOf } from './blocks.js'
import { cutsOf } from './cuts.js'
import { isQ4, type StoredFormat, type StoredShape } from './formats.js'
import type { Gate } from './gate.js'
import type { GpuTraits } from './kernel.js'

export interface MatvecShape extends StoredShape {
  /** Rows of activations that one invocation computes: 1, 2, 4 or 8. */
  readonly tokens: number
  /** Fused norm of the activations. */
  readonly epsilon?: number
  readonly bias: boolean
  readonly add: boolean
  readonly gated: boolean
  /** What a gate goes through. @default 'silu' */
  readonly gate?: Gate
  readonly head: boolean
  /** WGSL: how much further on the bias begins. */
  readonly biasFrom?: string
}

/** Rows of the matrix per invocation: even, so that a gate and its value fall to one. */
const HELD = 4
const THREADS = 64

export interface Cut {
  /** Invocations that share a row: 1 needs no barrier. */
  readonly lanes: number
  readonly groups: number
  /** Of these, how many add up among themselves before any goes to shared memory. */
  readonly near: number
  /** Rows of the matrix per invocation. */
  readonly held: number
  readonly threads: number
  /** Columns that an invocation takes at a time. */
  readonly unit: number
}

/** Rows from which on a whole matrix keeps a GPU busy, however many of them a workgroup takes. */
const MANY_ROWS = 8192

export function cut(
  { columns, format, of, tokens }: Pick<MatvecShape, 'columns' | 'format' | 'of' | 'tokens'>,
  traits: GpuTraits,
): Cut {
  const unit = unitOf(format)
  const usual = { held: HELD, threads: THREADS, unit }
  if (traits.serial) return { ...usual, lanes: 1, groups: THREADS, near: 1 }
  const given = cutsOf(traits).vectors
  if (isQ4(format) && given.words) {
    const { held, threads } = tokens === 1 ? given.one : given.several
    let { lanes } = given as { lanes: number }
    while (lanes > Math.min(columns / 8, threads)) lanes /= 2
    return { held, threads, unit: 8, lanes, groups: threads / lanes, near: Math.min(lanes, traits.lanes) }
  }
  const units = columns / unit
  const quickest = units > 32 ? 64 : units > 16 ? 32 : 16
  // Short rows leave lanes idle: of 18 units, 32 lanes have 14 too many, and three rounds of 8 lanes only 6.
  const idle = (lanes: number) => Math.ceil(units / lanes) * lanes - units
  const fewer = (a: number, b: number) => (idle(a) - idle(b) > units / 4 ? b : a)
  const lanes = of < MANY_ROWS ? quickest : [quickest, 8, 4].reduce(fewer)
  return { ...usual, lanes, groups: THREADS / lanes, near: Math.min(lanes, traits.lanes) }
}

/** What shares a scale, or 16 bytes. */
function unitOf(format: StoredFormat): number {
  if (isBlockType(format)) return groupOf(format)
  return isQ4(format) ? 32 : 8
}
