import { CACHE_BITS, cacheBytes } from '../../../platform/index.js'
import type { Activations, KeyValueCache, Vector } from '../../contract/tensors.js'
import { PAGE } from '../../contract/tensors.js'
import { atLeast, type BatchShape, bothHave, type CpuRecorder, defineOperation, windowsFit } from '../define.js'
import { PostponedRope } from '../rope/index.js'
import { dispatchAttention, ropesWithin, splitsOf } from './kernel.js'

/** Queries that the CPU attends together at most: registers hold no more sums. */
const TOGETHER = 4
/** Bytes of a thread's room that the CPU needs beside what each query needs. */
export const ATTEND_ROOM = 208

/** Where attention finds things in a row of `qkv`: `heads` queries; what follows is not looked at. */
export interface AttendOptions {
  /** Heads of queries: a multiple of the cache's. */
  readonly heads: number
  /**
   * A query sees no position after its own. Otherwise it sees to the end of its sequence, all of which lies in the pass,
   * as far as its window reaches in that direction too.
   * @default true
   */
  readonly causal?: boolean | undefined
  /** Positions that a query sees, its own included; absent: all. */
  readonly window?: number | undefined
  /** Scores are multiplied by it. */
  readonly scale: number
  /** A score s is then capped: cap * tanh(s / cap). @default it is not */
  readonly cap?: number | undefined
  /** For each head of queries a score that takes its share of the softmax, and gives nothing. @default there are none */
  readonly sinks?: Vector | undefined
  /** Nobody reads what comes of other rows: it may be anything. @default all are read */
  readonly rows?: Int32Array | undefined
}

/** Attention over the cache, of queries that `rope` has turned. `out` has `heads * headSize` columns. */
export const attend = defineOperation({
  name: 'attend',
  fit(
    batch: BatchShape,
    qkv: Activations,
    cache: KeyValueCache,
    _layer: number,
    out: Activations,
    { heads: queries, sinks }: AttendOptions,
  ) {
    const { headSize } = cache.shape
    windowsFit(batch, cache)
    if (sinks) atLeast('Sinks', sinks.length, queries)
    atLeast('Columns of queries', qkv.columns, queries * headSize)
    atLeast('Columns of attention', out.columns, queries * headSize)
    bothHave('Rows of attention', qkv, out, batch.rows)
  },
  gpu(pass, qkv, cache, layer, out, { heads: queries, scale, window, cap, causal = true, sinks, rows }) {
    const { heads, headSize, type, sliding } = cache.shape
    const few = pass.few(pass.rows)
    const { serial } = pass.traits
    // Hardware takes several rows at once, of which one is read; and of few rows all, which cost it little.
    const read = serial || !few ? rows : undefined
    if (serial && read) pass.gather(read)
    const record = () => {
      const shape = {
        queries,
        columns: qkv.columns,
        heads,
        headSize,
        type,
        ...(sliding && { sliding }),
        scale,
        window,
        ...(cap && { cap }),
        ...(!causal && { causal }),
        ...(sinks && { sinks: true }),
        ...(serial && read && { gathered: true }),
      }
      const buffers = {
        qkv: pass.buffer(qkv),
        cache: pass.layer(cache, layer),
        out: pass.buffer(out),
        sinks: sinks && pass.buffer(sinks),
        scratch: (bytes: number) => pass.scratch(out, bytes),
      }
      const { postponed } = pass
      const own = postponed instanceof PostponedRope && postponed.isOf(qkv, cache, layer) ? postponed : undefined
      const within = own && few && !serial && pass.single && ropesWithin(shape, pass.traits)
      const rope = within ? own.operation(pass) : undefined
      if (rope) pass.dropPostponed()
      dispatchAttention(pass, shape, buffers, few, read, rope)
    }
    // Of many rows, what is recorded depends on all their sequences.
    if (!few) {
      record()
      return
    }
    const splits = splitsOf(pass)
    for (const large of [false, true]) pass.tiles(1, splits, large)
    const facts = [qkv, out, queries, scale, window, cap, causal, sinks, pass.rows, read?.length, splits, pass.single]
    pass.repeat(pass.layer(cache, layer), facts, record)
  },
  // `lasts`: the last position that each row sees; `firsts`: the first, or 0: all see from the begin; `lists`: of each row
  // its sequence's pages; `read`: which `rows` are attended, or 0: the first; `cap`, `sinks`: 0 is none. Items: a head of
  // so many tokens `together` (`ofTokens`), or so many heads that share their keys, or fewer, where there are no more.
  fields: {
    ...{ qkv: 'pointer', stride: 'pointer', out: 'pointer', outStride: 'pointer' },
    ...{ heads: 'i32', keyHeads: 'i32', headSize: 'i32', keys: 'pointer', values: 'pointer' },
    ...{ keyHeadBytes: 'pointer', valueHeadBytes: 'pointer', lasts: 'pointer', lists: 'pointer' },
    ...{ firsts: 'pointer', scale: 'f32', room: 'pointer', roomGap: 'pointer', kept: 'i32', ofTokens: 'bool' },
    ...{ together: 'i32', rows: 'i32', read: 'pointer', cap: 'f32', overflows: 'pointer', sinks: 'pointer' },
  },
  cpu(pass, qkv, cache, layer, out, { heads, scale, cap = 0, sinks, window, causal = true, rows: read }) {
    const rows = read?.length ?? pass.rows
    const { longest } = pass
    const { heads: keyHeads, headSize, type } = cache.shape
    // Those that are read are mostly one of a sequence.
    const ofTokens = !read && rows > pass.spans.length
    const share = heads / keyHeads
    const itemsOf = (most: number) =>
      ofTokens ? Math.ceil(rows / most) * heads : rows * keyHeads * Math.ceil(share / most)
    // More together take less time, but not where threads then have nothing to do.
    const longestOf = (most: number) =>
      Math.ceil(itemsOf(most) / pass.threads) * (ofTokens ? most : Math.min(most, share))
    const together = longestOf(TOGETHER) <= longestOf(2) ? TOGETHER : 2
    // Of each query itself, then its sums, and its scores, in whole pages.
    const each = Math.ceil(headSize / 16) * 16 + (Math.ceil(longest / PAGE) + 1) * PAGE
    // Codes that take less than a byte are unpacked behind the scores, a page of them at a time.
    const unpacked = CACHE_BITS[type] < 8 ? headSize * PAGE : 0
    const { at: room, stride: roomGap } = pass.perThread(ATTEND_ROOM + unpacked + together * each * 4)
    const args = {
      qkv: pass.at(qkv),
      stride: pass.stride(qkv),
      out: pass.at(out),
      outStride: pass.stride(out),
      heads,
      keyHeads,
      headSize,
      rows,
      read: read ? pass.put(read) : 0,
      ofTokens,
      together,
      scale,
      cap,
      sinks: sinks ? pass.at(sinks) : 0,
      room,
      roomGap,
      ...pass.cached(cache, layer, false),
      ...maskOf(pass, causal, window),
    }
    return { args, items: itemsOf(together), values: rows * heads * longest * headSize }
  },
  cost({ spans }, _qkv, cache, _layer, _out, { heads }) {
    const positions = spans.reduce((sum, { tokens, position }) => sum + position + tokens.length, 0)
    const { heads: keyHeads, headSize, type } = cache.shape
    // A query multiplies with a key, then its weight with a value; a prompt's later tokens see more than earlier ones.
    const pairs = spans.reduce((sum, { tokens: { length }, position }) => {
      return sum + length * position + (length * (length + 1)) / 2
    }, 0)
    return {
      cache: positions * 2 * keyHeads * cacheBytes(type, headSize),
      multiplications: pairs * 2 * heads * headSize,
    }
  },
})

/** The attention mask: the last position that each row sees, and the first; 0: all see from the begin. */
function maskOf(pass: CpuRecorder, causal: boolean, window: number | undefined) {
  if (causal && window === undefined) return { lasts: pass.ids('positions'), firsts: 0 }
  return pass.once(`mask ${causal} ${window}`, () => {
    const reach = causal ? 1 : (window ?? Number.POSITIVE_INFINITY)
    const lasts = new Int32Array(pass.rows)
    const firsts = new Int32Array(pass.rows)
    let row = 0
    for (const { position, tokens } of pass.spans) {
      const end = position + tokens.length
      for (let at = position; at < end; at++, row++) {
        lasts[row] = Math.min(at + reach, end) - 1
        firsts[row] = window === undefined ? 0 : Math.max(0, at + 1 - window)
      }
    }
    return { lasts: pass.put(lasts), firsts: window === undefined ? 0 : pass.put(firsts) }
  })
}
