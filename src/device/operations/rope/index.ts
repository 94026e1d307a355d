import type { Activations, KeyValueCache, Vector } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation, type GpuRecorder, type Postponed, windowsFit } from '../define.js'
import { dispatchRope, type RopeOperands } from './kernel.js'
import type { Growth, RopeShape } from './rotation.js'

export interface RopeOptions {
  readonly heads: number
  /** There are queries alone in a row, for keys and values that are in the cache. */
  readonly queriesOnly?: boolean | undefined
  /** Queries at position p are multiplied with 1 + by * ln(1 + floor(p / every)). */
  readonly growth?: Growth | undefined
  /** cos and sin, [positions][headSize / 2][2]: value i of a head is turned with value i + headSize / 2. */
  readonly angles: Vector
  /** Each head of queries and of keys is normed before it is turned. */
  readonly headNorm?: { readonly query: Vector; readonly key: Vector; readonly epsilon: number }
}

/**
 * Turns queries (in place) and keys by their positions; writes keys and values into their pages. In a row of `qkv` are
 * `heads` queries, then the cache's heads of keys, then of values.
 */
export const rope = defineOperation({
  name: 'rope',
  fit(batch: BatchShape, qkv: Activations, cache: KeyValueCache, _layer: number, options: RopeOptions) {
    const { heads, headSize } = cache.shape
    windowsFit(batch, cache)
    const all = options.queriesOnly ? options.heads : options.heads + 2 * heads
    atLeast('Columns of queries, keys and values', qkv.columns, all * headSize)
    atLeast('Angles', options.angles.length, batch.longest * headSize)
  },
  gpu: (pass, qkv, cache, layer, options) => pass.postpone(new PostponedRope(qkv, cache, layer, options)),
  // `pages`: of each row; `overflows`: of each page, a bit for each slot that has what cannot be kept; `queriesOnly`: no
  // keys, no values. Items: a row's key head, and the heads of queries that read it, so that mostly the same thread will
  // read what it writes here.
  fields: {
    ...{ qkv: 'pointer', stride: 'pointer', heads: 'i32', keyHeads: 'i32', headSize: 'i32', angles: 'pointer' },
    ...{ positions: 'pointer', pages: 'pointer', keys: 'pointer', values: 'pointer' },
    ...{ keyHeadBytes: 'pointer', valueHeadBytes: 'pointer', queryNorm: 'pointer', keyNorm: 'pointer' },
    ...{ epsilon: 'f32', kept: 'i32', growBy: 'f32', growEvery: 'i32', overflows: 'pointer' },
    queriesOnly: 'bool',
  },
  cpu(pass, qkv, cache, layer, { heads, angles, headNorm, growth, queriesOnly = false }) {
    const { heads: keyHeads, headSize } = cache.shape
    const args = {
      qkv: pass.at(qkv),
      stride: pass.stride(qkv),
      heads,
      keyHeads,
      headSize,
      angles: pass.at(angles),
      positions: pass.ids('positions'),
      ...pass.cached(cache, layer, !queriesOnly),
      queryNorm: headNorm ? pass.at(headNorm.query) : 0,
      keyNorm: headNorm ? pass.at(headNorm.key) : 0,
      epsilon: headNorm?.epsilon ?? 0,
      growBy: growth?.by ?? 0,
      growEvery: growth?.every ?? 1,
      queriesOnly,
    }
    return { args, items: pass.rows * keyHeads }
  },
})

/** On the GPU it waits for what comes next: attention of few rows does it by the way. */
export class PostponedRope implements Postponed {
  readonly #qkv: Activations
  readonly #cache: KeyValueCache
  readonly #layer: number
  readonly #options: RopeOptions

  constructor(qkv: Activations, cache: KeyValueCache, layer: number, options: RopeOptions) {
    this.#qkv = qkv
    this.#cache = cache
    this.#layer = layer
    this.#options = options
  }

  get facts(): readonly unknown[] {
    const { heads, angles, growth, queriesOnly, headNorm } = this.#options
    const norm = [headNorm?.query, headNorm?.key, headNorm?.epsilon]
    return [this.#qkv, this.#cache, this.#layer, heads, angles, growth, queriesOnly, ...norm]
  }

  /** Whether it is of this attention. */
  isOf(qkv: Activations, cache: KeyValueCache, layer: number): boolean {
    return this.#qkv === qkv && this.#cache === cache && this.#layer === layer
  }

  record(pass: GpuRecorder): void {
    const { shape, operands } = this.operation(pass)
    dispatchRope(pass, shape, operands)
  }

  operation(pass: GpuRecorder): { readonly shape: RopeShape; readonly operands: RopeOperands } {
    const { heads: queries, angles, headNorm, growth, queriesOnly } = this.#options
    const { heads, headSize, type, sliding } = this.#cache.shape
    const shape = {
      queries,
      columns: this.#qkv.columns,
      heads,
      headSize,
      type,
      growth,
      ...(sliding && { sliding }),
      ...(queriesOnly && { queriesOnly }),
      ...(headNorm && { epsilon: headNorm.epsilon }),
    }
    const operands = {
      angles: pass.buffer(angles),
      qkv: pass.buffer(this.#qkv),
      cache: pass.layer(this.#cache, this.#layer),
      ...(headNorm && { gains: [pass.buffer(headNorm.query), pass.buffer(headNorm.key)] as const }),
    }
    return { shape, operands }
  }
}
