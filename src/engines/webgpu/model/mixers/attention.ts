import { turnedOrder } from '../angles.js'
import type { AttentionLayer } from '../model-plan.js'
import type { Mixer } from './mixer.js'

/** The one kind that keeps every token: keys and values, in pages that sequences share. */
export const attention: Mixer<AttentionLayer> = {
  plan(find, layer, hidden) {
    const { heads, keyHeads, headSize, angles, queryKeyNorm, outputGate } = layer
    const [queries, keys] = [heads * headSize, keyHeads * headSize]
    const turned = turnedOrder(angles, headSize)
    const order = find.interleaved ? apart(headSize, turned) : turned
    const qkv = find.matrix('qkv', [outputGate ? 2 * queries : queries, keys, keys], hidden)
    const { bias } = qkv
    const rows = order || outputGate ? { order: rowOrder(layer, order ?? run(headSize)) } : undefined
    const row = queryKeyNorm === 'row'
    const normOrder = (count: number) => order && { order: run(row ? count : 1).flatMap((head) => of(order, head)) }
    return {
      matrices: {
        qkv: rows ? { ...qkv, ...rows, ...(bias && { bias: { ...bias, ...rows } }) } : qkv,
        output: find.matrix('output', [hidden], queries),
      },
      vectors: queryKeyNorm
        ? {
            queryNorm: { ...find.norm('queryNorm', row ? queries : headSize), ...normOrder(heads) },
            keyNorm: { ...find.norm('keyNorm', row ? keys : headSize), ...normOrder(keyHeads) },
          }
        : {},
    }
  },

  widths: ({ heads, keyHeads, headSize, outputGate }) => ({
    input: ((outputGate ? 2 : 1) * heads + 2 * keyHeads) * headSize,
    mixed: heads * headSize,
  }),

  states: () => [],

  run({ pass, layer, weights, hidden, norm, epsilon, room: { input: qkv, mixed }, cache, needed }) {
    const { heads, keyHeads, headSize, queryKeyNorm, scale, scoreCap: cap, window, causal, outputGate, growth } = layer
    const { matrix, bias } = weights.matrices.qkv!
    const { queryNorm, keyNorm } = weights.vectors
    const { of, layer: index } = cache!
    const angles = weights.angles!
    const [queries, keys] = [heads * headSize, keyHeads * headSize]
    pass.project(matrix, hidden, qkv, { norm, bias })
    if (!queryNorm || !keyNorm) {
      pass.place(qkv, of, index, { heads, angles, growth })
    } else if (queryKeyNorm === 'head') {
      pass.place(qkv, of, index, { heads, angles, growth, headNorm: { query: queryNorm, key: keyNorm, epsilon } })
    } else {
      pass.join(qkv, qkv, { columns: queries, norm: { weight: queryNorm, epsilon } })
      pass.join(qkv, qkv, { from: queries, columns: keys, norm: { weight: keyNorm, epsilon } })
      pass.place(qkv, of, index, { heads, angles, growth })
    }
    if (!needed) return
    pass.attend(qkv, of, index, mixed, { heads, scale, cap, window, causal })
    if (outputGate) pass.gate(qkv, mixed, mixed, { gate: 'sigmoid', gatesFrom: queries + 2 * keys })
  },
}

/** Rows that are stored as pairs, which are turned together: the first of all pairs, then the second; or as `order` says. */
function apart(size: number, order: readonly number[] = run(size)): readonly number[] {
  return order.map((i) => 2 * (i % (size / 2)) + Math.floor(i / (size / 2)))
}

const run = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i)
/** The same in the head of this number. */
const of = (order: readonly number[], head: number) => order.map((i) => head * order.length + i)

/** Queries and keys in the order of their heads, then values, then gates, which are stored behind the query of each head. */
function rowOrder({ heads, keyHeads, headSize, outputGate }: AttentionLayer, order: readonly number[]): number[] {
  const each = outputGate ? 2 : 1
  const keys = each * heads
  const inHeads = (count: number, first: number, rows: readonly number[], step = 1) =>
    run(count).flatMap((head) => of(rows, first + head * step))
  return [
    ...inHeads(heads, 0, order, each),
    ...inHeads(keyHeads, keys, order),
    ...inHeads(keyHeads, keys + keyHeads, run(headSize)),
    ...(outputGate ? inHeads(heads, 1, run(headSize), 2) : []),
  ]
}
