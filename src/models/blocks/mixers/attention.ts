import { addNorm, attend, gate as gateRows, matmul, rope } from '../../../device/index.js'
import { turnedOrder } from '../../angles.js'
import type { AttentionLayer } from '../../model-plan.js'
import type { LayerTensors, PlannedMatrix, PlannedVector } from '../../planned.js'
import type { Mixer } from './mixer.js'

/** The one kind that keeps every token: keys and values, in pages that sequences share. */
export const attention: Mixer<AttentionLayer> = {
  plan(find, layer, hidden) {
    const { heads, keyHeads, headSize, angles, queryKeyNorm, outputGate, valueNorm, keysOf, sinks } = layer
    const [queries, keys] = [heads * headSize, keyHeads * headSize]
    const turned = turnedOrder(angles, headSize)
    const order = find.interleaved ? apart(headSize, turned) : turned
    const qkv = findQkv(find, layer, hidden)
    const { bias } = qkv
    const rows = order || outputGate ? { order: rowOrder(layer, order ?? run(headSize)) } : undefined
    const row = queryKeyNorm === 'row'
    const normOrder = (count: number) => order && { order: run(row ? count : 1).flatMap((head) => of(order, head)) }
    return {
      matrices: {
        qkv: rows ? { ...qkv, ...rows, ...(bias && { bias: { ...bias, ...rows } }) } : qkv,
        output: find.matrix('output', [hidden], queries),
      },
      vectors: {
        ...(queryKeyNorm && {
          queryNorm: { ...find.norm('queryNorm', row ? queries : headSize), ...normOrder(heads) },
        }),
        ...(queryKeyNorm &&
          keysOf === undefined && {
            keyNorm: { ...find.norm('keyNorm', row ? keys : headSize), ...normOrder(keyHeads) },
          }),
        ...(valueNorm && keysOf === undefined && { valueNorm: ones(headSize) }),
        ...(sinks && { sinks: find.vector('sinks', heads) }),
      },
    }
  },

  widths: ({ heads, keyHeads, headSize, outputGate, keysOf }) => ({
    input: ((outputGate ? 2 : 1) * heads + (keysOf === undefined ? 2 * keyHeads : 0)) * headSize,
    mixed: heads * headSize,
  }),

  states: () => [],

  run({ pass, layer, weights, hidden, norm, epsilon, room: { input: qkv, mixed }, cache, wanted }) {
    const { heads, keyHeads, headSize, queryKeyNorm, scale, scoreCap: cap, window, causal, outputGate, growth } = layer
    const { matrix, bias } = weights.matrices.qkv!
    const { queryNorm, keyNorm = queryNorm, valueNorm, sinks } = weights.vectors
    const { of, layer: index } = cache!
    const angles = weights.angles!
    const [queries, keys] = [heads * headSize, keyHeads * headSize]
    const queriesOnly = layer.keysOf !== undefined
    pass.run(matmul, matrix, hidden, qkv, { norm, bias })
    if (valueNorm) {
      const parts = { from: queries + keys, columns: keys, every: headSize }
      pass.run(addNorm, qkv, qkv, { ...parts, norm: { weight: valueNorm, epsilon } })
    }
    const headNorm = queryNorm && keyNorm && queryKeyNorm === 'head' && { query: queryNorm, key: keyNorm, epsilon }
    if (queryNorm && keyNorm && !headNorm) {
      pass.run(addNorm, qkv, qkv, { columns: queries, norm: { weight: queryNorm, epsilon } })
      pass.run(addNorm, qkv, qkv, { from: queries, columns: keys, norm: { weight: keyNorm, epsilon } })
    }
    pass.run(rope, qkv, of, index, { heads, angles, growth, queriesOnly, ...(headNorm && { headNorm }) })
    if (wanted?.length === 0) return
    pass.run(attend, qkv, of, index, mixed, { heads, scale, cap, window, causal, sinks, rows: wanted })
    if (outputGate) pass.run(gateRows, qkv, mixed, mixed, { gate: 'sigmoid', gatesFrom: queries + 2 * keys })
  },
}

/** The product that gives queries, keys and values, as far as a layer has its own. */
function findQkv(find: LayerTensors, layer: AttentionLayer, hidden: number): PlannedMatrix {
  const { heads, keyHeads, headSize, outputGate, keysOf, keysMayBeValues } = layer
  const [queries, keys] = [(outputGate ? 2 : 1) * heads * headSize, keyHeads * headSize]
  const role = keysMayBeValues && !find.has('value') ? 'queryKey' : 'qkv'
  if (keysOf === undefined) return find.matrix(role, [queries, keys, keys], hidden)
  // Files may have more.
  for (const role of ['qkv', 'keyNorm'] as const) find.passOver(role)
  return find.matrix('query', [queries], hidden)
}

/** Of a norm without a weight. */
const ones = (length: number): PlannedVector => ({
  parts: [],
  length: 0,
  order: Array.from({ length }, () => -1),
  offset: 1,
})

/** Rows that are stored as pairs, which are turned together: the first of all pairs, then the second; or as `order` says. */
function apart(size: number, order: readonly number[] = run(size)): readonly number[] {
  return order.map((i) => 2 * (i % (size / 2)) + Math.floor(i / (size / 2)))
}

const run = (count: number) => Array.from({ length: count }, (_, i) => i)
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
