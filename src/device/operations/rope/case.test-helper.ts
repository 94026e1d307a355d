import { attention } from '../attend/case.test-helper.js'
import type { Case } from '../desk.test-helper.js'

export const ropeCase: Case = {
  async run(desk) {
    const { heads, headSize, qkv, turn } = attention(desk)
    // Queries are turned where they stand; keys, and values, are told by what attention makes of them.
    const rows = await desk.outcome(turn, qkv)
    return rows.filter((_, i) => i % qkv.columns < heads * headSize)
  },
  misfit(desk) {
    const { turn, short } = attention(desk)
    turn(desk.begin(), short)
  },
}
