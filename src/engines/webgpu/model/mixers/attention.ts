import { turnedOrder } from '../angles.js'
import type { AttentionLayer } from '../model-plan.js'
import type { Mixer } from './mixer.js'

/** The one kind that keeps every token: keys and values, in pages that sequences share. */
export const attention: Mixer<AttentionLayer> = {
  plan(find, { heads, keyHeads, headSize, angles, queryKeyNorm }, hidden) {
    const [queries, keys] = [heads * headSize, keyHeads * headSize]
    const turned = turnedOrder(angles, headSize)
    const order = find.interleaved ? apart(headSize, turned) : turned
    const across = order && headOrder(order, heads + keyHeads, keys)
    const qkv = find.matrix('qkv', [queries, keys, keys], hidden)
    const { bias } = qkv
    const row = queryKeyNorm === 'row'
    const normOrder = (count: number) => order && { order: headOrder(order, row ? count : 1, 0) }
    return {
      matrices: {
        qkv: across ? { ...qkv, order: across, ...(bias && { bias: { ...bias, order: across } }) } : qkv,
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

  widths: ({ heads, keyHeads, headSize }) => ({
    input: (heads + 2 * keyHeads) * headSize,
    mixed: heads * headSize,
  }),

  states: () => [],

  run({ pass, layer, weights, hidden, norm, epsilon, room: { input: qkv, mixed }, cache, needed }) {
    const { heads, keyHeads, headSize, queryKeyNorm, scale, scoreCap: cap, window } = layer
    const { matrix, bias } = weights.matrices.qkv!
    const { queryNorm, keyNorm } = weights.vectors
    const { of, layer: index } = cache!
    const angles = weights.angles!
    pass.project(matrix, hidden, qkv, { norm, bias })
    if (!queryNorm || !keyNorm) {
      pass.place(qkv, of, index, { heads, angles })
    } else if (queryKeyNorm === 'head') {
      pass.place(qkv, of, index, { heads, angles, headNorm: { query: queryNorm, key: keyNorm, epsilon } })
    } else {
      const [queries, keys] = [heads * headSize, keyHeads * headSize]
      pass.join(qkv, qkv, { columns: queries, norm: { weight: queryNorm, epsilon } })
      pass.join(qkv, qkv, { from: queries, columns: keys, norm: { weight: keyNorm, epsilon } })
      pass.place(qkv, of, index, { heads, angles })
    }
    if (needed) pass.attend(qkv, of, index, mixed, { heads, scale, cap, window })
  },
}

/** Rows that are stored as pairs, which are turned together: the first of all pairs, then the second; or as `order` says. */
function apart(
  size: number,
  order = Array.from({ length: size }, (_, i) => i) as readonly number[],
): readonly number[] {
  return order.map((i) => 2 * (i % (size / 2)) + Math.floor(i / (size / 2)))
}

/** The order of a head for each of `heads`, and `rest` values as they are. */
function headOrder(order: readonly number[], heads: number, rest: number): number[] {
  const all = Array.from({ length: heads * order.length + rest }, (_, i) => i)
  return all.map((i) => {
    const within = i % order.length
    return i < heads * order.length ? i - within + order[within]! : i
  })
}
