/**
 * The operations of a pass, an entry each: what both devices ask of its operands before anything is computed, and the
 * names of what computes it: kernels in `gpu/kernels/`, and operations of the CPU in `cpu/abi.ts`. Each device records
 * it in the method of its name, in `gpu/pass.ts` and `cpu/pass.ts`.
 */
import {
  type Activations,
  type Batch,
  type KeyValueCache,
  MAX_TAPS,
  PAGE,
  type Pass,
  type Span,
  type States,
} from '../contract.js'

/** Methods of a pass that compute. */
export type PassOperation = Exclude<keyof Pass, 'rows' | 'clearPages' | 'copyPages' | 'write' | 'read' | 'submit'>

/** What is written into rows is as wide as they are. */
export function writeFits(out: Activations, values: Float32Array): void {
  atLeast('Values to write into', out.rows * out.columns, values.length)
  if (values.length % out.columns !== 0) throw new RangeError(`${values.length} values for rows of ${out.columns}.`)
}

/** What a pass knows of its batch. */
export interface BatchShape {
  readonly spans: readonly Span[]
  readonly rows: number
  /** Positions of the longest sequence. */
  readonly longest: number
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

interface Operation<N extends PassOperation> {
  /** Refuses operands that do not fit: kernels check nothing. */
  fit(batch: BatchShape, ...operands: Parameters<Pass[N]>): void
  /** How the names of its GPU kernels begin. */
  readonly gpu: readonly string[]
  readonly cpu: readonly string[]
}

export const OPERATIONS: { readonly [N in PassOperation]: Operation<N> } = {
  embed: {
    fit(batch, table, out) {
      atLeast('Columns to embed into', out.columns, table.columns)
      atLeast('Rows to embed into', out.rows, batch.rows)
    },
    gpu: ['embed'],
    cpu: ['embed'],
  },
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
  join: {
    fit(batch, x, out, { rows = batch.rows, from = 0, columns = x.columns }) {
      atLeast('Columns to join', Math.min(x.columns, out.columns), from + columns)
      bothHave('Rows to join', x, out, rows)
    },
    gpu: ['join'],
    cpu: ['join'],
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
  convolve: {
    fit(batch, x, states, index, out, { taps, form }) {
      const channels = taps.length / MAX_TAPS
      atLeast('Columns to convolve', x.columns, form === 'gated' ? 3 * channels : channels)
      atLeast('Columns of a convolution', out.columns, channels)
      stateFits(batch, states, index, (MAX_TAPS - 1) * channels)
    },
    gpu: ['convolve'],
    cpu: ['convolve'],
  },
  delta: {
    fit(batch, x, states, index, out, { keyHeads, valueHeads, keySize, valueSize, rates, gates, gatesFrom }) {
      const columns = valueHeads * valueSize
      atLeast('Columns of queries, keys and values', x.columns, 2 * keyHeads * keySize + columns)
      atLeast('Columns of rates', rates.columns, 2 * valueHeads)
      atLeast('Columns of gates', gates.columns, gatesFrom + columns)
      atLeast('Columns of a delta rule', out.columns, columns)
      stateFits(batch, states, index, keySize * columns)
    },
    gpu: ['delta'],
    cpu: ['delta'],
  },
  gate: {
    fit(batch, gates, values, out, { rows = batch.rows, gatesFrom = 0, valuesFrom = 0 }) {
      atLeast('Columns of gates', gates.columns, gatesFrom + out.columns)
      atLeast('Columns to gate', values.columns, valuesFrom + out.columns)
      bothHave('Rows to gate', gates, out, rows)
    },
    gpu: ['gate'],
    cpu: ['gate'],
  },
  route: {
    fit(batch, scores, routing, { rows = batch.rows, shared }) {
      atLeast('Columns of scores', scores.columns, routing.shape.experts + (shared ? 1 : 0))
      atLeast('Rows to route', Math.min(scores.rows, routing.shape.rows), rows)
    },
    gpu: ['route', 'group'],
    cpu: ['route'],
  },
  projectRouted: {
    fit(batch, matrix, x, out, { shape }, { rows = batch.rows, from }) {
      const places = rows * shape.chosen
      atLeast('Columns to project from', x.columns, matrix.columns)
      atLeast('Columns to project into', out.columns, matrix.rows / shape.experts)
      atLeast('Rows to project', x.rows, from === 'rows' ? rows : places)
      atLeast('Places to project into', out.rows, places)
    },
    gpu: ['routed'],
    cpu: ['routed'],
  },
  collect: {
    fit(batch, x, out, { shape }, { rows = batch.rows, shared } = {}) {
      atLeast('Places to collect', x.rows, rows * shape.chosen)
      if (shared) atLeast('Columns that are shared', shared.columns, x.columns)
      atLeast('Columns to collect', out.columns, x.columns)
      atLeast('Rows to collect into', out.rows, rows)
    },
    gpu: ['collect'],
    cpu: ['collect'],
  },
  pick: {
    fit(_batch, x, rows, out) {
      atLeast('Rows to pick into', out.rows, rows.length)
      atLeast('Columns to pick into', out.columns, x.columns)
    },
    gpu: ['pick'],
    cpu: ['copy'],
  },
  pool: {
    fit(batch, x, out) {
      atLeast('Rows to pool into', out.rows, batch.spans.length)
      atLeast('Columns to pool', out.columns, x.columns)
    },
    gpu: ['pool'],
    cpu: ['pool'],
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

function atLeast(what: string, actual: number, least: number): void {
  if (actual < least) throw new RangeError(`${what}: ${actual} where at least ${least} are needed.`)
}

function bothHave(what: string, x: Activations, out: Activations, rows: number): void {
  atLeast(what, Math.min(x.rows, out.rows), rows)
}

function windowsFit({ spans }: BatchShape, { shape }: KeyValueCache): void {
  if (!shape.sliding) return
  for (const { windowPages, position, tokens } of spans) {
    atLeast('Pages of a window', (windowPages?.length ?? 0) * PAGE, position + tokens.length)
  }
}

function stateFits({ spans }: BatchShape, { shape }: States, index: number, values: number): void {
  atLeast('Values of a state', shape.sizes[index] ?? 0, values)
  for (const { state } of spans) {
    if (!state) throw new RangeError('A span has no slot for its states.')
    atLeast('Slots', shape.slots, Math.max(state.from, state.to) + 1)
  }
}
