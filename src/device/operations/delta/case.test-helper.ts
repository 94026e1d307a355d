import type { Case, Desk } from '../desk.test-helper.js'
import { delta } from './index.js'

/** Two heads of queries and keys, four of values; `stateRows`: of 16 that each state needs. */
function deltaRule(desk: Desk, stateRows: number) {
  const [keyHeads, valueHeads, keySize, valueSize] = [2, 4, 16, 16]
  const columns = valueHeads * valueSize
  const states = desk.device.states({ slots: 2, sizes: [stateRows * columns] })
  const options = {
    ...{ keyHeads, valueHeads, keySize, valueSize, gatesFrom: 16 },
    ...{ rates: desk.filled(2 * valueHeads), gates: desk.filled(columns + 16) },
    ...{ speed: desk.vector(valueHeads), delay: desk.vector(valueHeads) },
    norm: { weight: desk.vector(valueSize), epsilon: 1e-5 },
  }
  return { states, x: desk.filled(2 * keyHeads * keySize + columns), out: desk.empty(columns), options }
}

export const deltaCase: Case = {
  run(desk) {
    const { states, x, out, options } = deltaRule(desk, 16)
    return desk.outcome((pass) => pass.run(delta, x, states, 0, out, options), out)
  },
  misfit(desk) {
    const { states, x, out, options } = deltaRule(desk, 8)
    desk.begin().run(delta, x, states, 0, out, options)
  },
}
