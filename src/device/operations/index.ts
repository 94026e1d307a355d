/**
 * The operations of a pass: those of folders of their own, which it runs, and those that are methods of it, for what they
 * ask hangs on what else it has recorded. Of these, an entry each: what both devices ask of its operands before anything is
 * computed, and the names of what computes it: kernels in `gpu/kernels/`, and operations of the CPU in `cpu/abi.ts`.
 */
import { type Activations, type Batch, type KeyValueCache, PAGE, type Pass } from '../contract.js'
import { carry } from './carry/index.js'
import { collect } from './collect/index.js'
import { convolve } from './convolve/index.js'
import { atLeast, type BatchShape, bothHave } from './define.js'
import { delta } from './delta/index.js'
import { embed } from './embed/index.js'
import { gate } from './gate/index.js'
import { join } from './join/index.js'
import { pick } from './pick/index.js'
import { pool } from './pool/index.js'
import { route } from './route/index.js'
import { routed } from './routed/index.js'

/** Methods of a pass that compute. */
export type PassOperation = Exclude<
  keyof Pass,
  'rows' | 'run' | 'clearPages' | 'copyPages' | 'write' | 'read' | 'submit'
>

/** What is written into rows is as wide as they are. */
export function writeFits(out: Activations, values: Float32Array): void {
  atLeast('Values to write into', out.rows * out.columns, values.length)
  if (values.length % out.columns !== 0) throw new RangeError(`${values.length} values for rows of ${out.columns}.`)
}

export function shapeOf({ spans }: Batch): BatchShape {
  let rows = 0
  let longest = 0
  for (const { tokens, position, pages } of spans) {
    const end = position + tokens.length
    atLeast('Pages of a sequence', pages.length * PAGE, end)
    rows += tokens.length
    longest = Math.max(longest, end)
  }
  return { spans, rows, longest }
}

/** Operations that have a folder each. */
export const DEFINED = { carry, collect, convolve, delta, embed, gate, join, pick, pool, route, routed }

interface Method<N extends PassOperation> {
  /** Refuses operands that do not fit: kernels check nothing. */
  fit(batch: BatchShape, ...operands: Parameters<Pass[N]>): void
  /** How the names of its GPU kernels begin. */
  readonly gpu: readonly string[]
  readonly cpu: readonly string[]
}

export const OPERATIONS: { readonly [N in PassOperation]: Method<N> } = {
  project: {
    fit(batch, matrix, x, out, { rows = batch.rows, gated = false, add = false } = {}) {
      if (gated && add) throw new RangeError('A gated projection cannot be added.')
      atLeast('Columns to project from', x.columns, matrix.columns)
      atLeast('Columns to project into', out.columns, gated ? matrix.rows / 2 : matrix.rows)
      bothHave('Rows to project', x, out, rows)
    },
    gpu: ['matvec', 'matmul', 'norm', 'halve'],
    cpu: ['matmul', 'gated', 'activate', 'norm', 'prepare'],
  },
  place: {
    fit(batch, qkv, cache, _layer, { heads: queries, angles, queriesOnly }) {
      const { heads, headSize } = cache.shape
      windowsFit(batch, cache)
      const all = queriesOnly ? queries : queries + 2 * heads
      atLeast('Columns of queries, keys and values', qkv.columns, all * headSize)
      atLeast('Angles', angles.length, batch.longest * headSize)
    },
    gpu: ['place'],
    cpu: ['place'],
  },
  attend: {
    fit(batch, qkv, cache, _layer, out, { heads: queries, sinks }) {
      const { headSize } = cache.shape
      windowsFit(batch, cache)
      if (sinks) atLeast('Sinks', sinks.length, queries)
      atLeast('Columns of queries', qkv.columns, queries * headSize)
      atLeast('Columns of attention', out.columns, queries * headSize)
      bothHave('Rows of attention', qkv, out, batch.rows)
    },
    gpu: ['attend', 'place and attend'],
    cpu: ['attend'],
  },
  sample: {
    fit(_batch, sampler, logits, rows) {
      atLeast('Logits of a row', logits.columns, sampler.shape.vocabulary)
      atLeast('Rows of logits', logits.rows, rows.length)
      atLeast('Rows that are sampled', sampler.shape.rows, rows.length)
    },
    gpu: ['sample'],
    // Between two programs: `cpu/sampler.ts`.
    cpu: [],
  },
}

function windowsFit({ spans }: BatchShape, { shape }: KeyValueCache): void {
  if (!shape.sliding) return
  for (const { windowPages, position, tokens } of spans) {
    atLeast('Pages of a window', (windowPages?.length ?? 0) * PAGE, position + tokens.length)
  }
}
