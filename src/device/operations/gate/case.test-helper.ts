import type { Case } from '../desk.test-helper.js'
import { gate } from './index.js'

export const gateCase: Case = {
  run(desk) {
    const [gates, values, out] = [desk.filled(48), desk.filled(32), desk.empty(32)]
    return desk.outcome((pass) => pass.run(gate, gates, values, out, { gate: 'sigmoid', gatesFrom: 16 }), out)
  },
  misfit(desk) {
    const [gates, values, out] = [desk.empty(32), desk.empty(32), desk.empty(32)]
    desk.begin().run(gate, gates, values, out, { gate: 'silu', gatesFrom: 4 })
  },
}
