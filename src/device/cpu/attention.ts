/** Records attention, and what puts keys and values into their pages. */
import type { Activations, AttentionShape, KeyValueCache, PlaceOptions } from '../contract.js'
import { PAGE } from '../contract.js'
import { OPERATIONS } from '../operations/index.js'
import type { PassRecorder } from './pass-recorder.js'
import { few } from './program.js'
import { CpuActivations, CpuCache, CpuVector, own } from './tensors.js'

export class CpuAttention {
  /** Where keys and values are written. */
  readonly written = new Set<CpuCache>()
  readonly #pass: PassRecorder
  readonly #sights = new Map<string, { lasts: number; firsts: number }>()

  constructor(pass: PassRecorder) {
    this.#pass = pass
  }

  place(qkv: Activations, cache: KeyValueCache, layer: number, options: PlaceOptions): void {
    OPERATIONS.place.fit(this.#pass.shape, qkv, cache, layer, options)
    const [x, kv] = [own(qkv, CpuActivations), own(cache, CpuCache)]
    if (!options.queriesOnly) this.written.add(kv)
    const { heads, headSize } = kv.shape
    const angles = own(options.angles, CpuVector)
    const norm = options.headNorm
    this.#pass.add('place', this.#pass.rows * heads, {
      qkv: x.use(),
      stride: x.stride,
      heads: options.heads,
      keyHeads: heads,
      headSize,
      angles: angles.use(),
      positions: this.#pass.batch.positions,
      pages: kv.shape.sliding ? this.#pass.batch.windowPages : this.#pass.batch.pages,
      keys: kv.keys(layer),
      values: kv.values(layer),
      keyPageBytes: kv.keyPageBytes,
      valuePageBytes: kv.valuePageBytes,
      kept: kv.kept,
      overflows: kv.overflows(),
      queryNorm: norm ? own(norm.query, CpuVector).use() : 0,
      keyNorm: norm ? own(norm.key, CpuVector).use() : 0,
      epsilon: norm?.epsilon ?? 0,
      growBy: options.growth?.by ?? 0,
      growEvery: options.growth?.every ?? 1,
      queriesOnly: options.queriesOnly === true,
    })
  }

  attend(qkv: Activations, cache: KeyValueCache, layer: number, out: Activations, shape: AttentionShape): void {
    OPERATIONS.attend.fit(this.#pass.shape, qkv, cache, layer, out, shape)
    const [x, kv, target] = [own(qkv, CpuActivations), own(cache, CpuCache), own(out, CpuActivations)]
    const { heads, headSize } = kv.shape
    // For each of two queries: itself, scaled, and its scores, in whole pages; once more as they weigh a block of values.
    const scores = (Math.ceil(this.#pass.batch.longest / PAGE) + 1) * PAGE * (kv.shape.type === 'q8_0' ? 2 : 1)
    const room = this.#pass.perThread(2 * (headSize + scores) * 4)
    const { rows: read } = shape
    const rows = read?.length ?? this.#pass.rows
    const sharing = few(rows * shape.heads * this.#pass.batch.longest * headSize)
    const { lasts, firsts } = this.#sight(shape)
    // Those that are read are mostly one of a sequence.
    const pairsTokens = !read && this.#pass.batch.several
    const args = {
      qkv: x.use(),
      stride: x.stride,
      out: target.use(),
      outStride: target.stride,
      heads: shape.heads,
      keyHeads: heads,
      headSize,
      rows,
      read: read ? this.#pass.put(read) : 0,
      pairsTokens,
      keys: kv.keys(layer),
      values: kv.values(layer),
      keyPageBytes: kv.keyPageBytes,
      valuePageBytes: kv.valuePageBytes,
      kept: kv.kept,
      overflows: kv.overflows(),
      lasts,
      firsts,
      lists: kv.shape.sliding ? this.#pass.batch.windowLists : this.#pass.batch.lists,
      room: room.at,
      roomGap: room.stride,
      scale: shape.scale,
      cap: shape.cap ?? 0,
      sinks: shape.sinks ? own(shape.sinks, CpuVector).use() : 0,
    }
    // Pairs of queries that read the same keys and values: `assembly/attend.ts` tells how they are counted.
    const pairs = pairsTokens ? Math.ceil(rows / 2) * shape.heads : rows * heads * Math.ceil(shape.heads / heads / 2)
    this.#pass.add('attend', pairs, args, sharing)
  }

  /** The last position that each row sees, and the first; 0: all see from the begin. */
  #sight({ window, causal = true }: AttentionShape): { lasts: number; firsts: number } {
    if (causal && window === undefined) return { lasts: this.#pass.batch.positions, firsts: 0 }
    const key = `${causal} ${window}`
    const known = this.#sights.get(key)
    if (known) return known
    const reach = causal ? 1 : (window ?? Number.POSITIVE_INFINITY)
    const lasts = new Int32Array(this.#pass.rows)
    const firsts = new Int32Array(this.#pass.rows)
    let row = 0
    for (const { position, tokens } of this.#pass.shape.spans) {
      const end = position + tokens.length
      for (let at = position; at < end; at++, row++) {
        lasts[row] = Math.min(at + reach, end) - 1
        firsts[row] = window === undefined ? 0 : Math.max(0, at + 1 - window)
      }
    }
    const sight = { lasts: this.#pass.put(lasts), firsts: window === undefined ? 0 : this.#pass.put(firsts) }
    this.#sights.set(key, sight)
    return sight
  }
}
