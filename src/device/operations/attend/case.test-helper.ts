import { angleTable } from '../../../models/angles.js'
import type { Pass, Vector } from '../../contract.js'
import type { Case, Desk } from '../desk.test-helper.js'
import { rope } from '../rope/index.js'
import { attend } from './index.js'

/** Operands of attention: 4 heads of queries that share 2 of keys, of 16 values each. */
export function attention(desk: Desk) {
  const [heads, keyHeads, headSize] = [4, 2, 16]
  const cache = desk.device.cache({ layers: 1, pages: 3, heads: keyHeads, headSize, type: 'f32' })
  const angles = desk.device.vector(angleTable(32, { size: headSize, theta: 10_000 }))
  const qkv = desk.filled((heads + 2 * keyHeads) * headSize)
  const turn = (pass: Pass, by: Vector = angles) => {
    pass.clearPages(cache, [0, 1, 2])
    pass.run(rope, qkv, cache, 0, { heads, angles: by })
  }
  return { heads, headSize, cache, qkv, turn, short: desk.vector(headSize) }
}

export const attendCase: Case = {
  run(desk) {
    const { heads, headSize, qkv, cache, turn } = attention(desk)
    const out = desk.empty(heads * headSize)
    return desk.outcome((pass) => {
      turn(pass)
      pass.run(attend, qkv, cache, 0, out, { heads, scale: 0.25, window: 9, cap: 5 })
    }, out)
  },
  misfit(desk) {
    const { heads, qkv, cache } = attention(desk)
    desk.begin().run(attend, qkv, cache, 0, desk.empty(32), { heads, scale: 1 })
  },
}
