import type { Case } from '../desk.test-helper.js'
import { tokenShift } from './index.js'

export const tokenShiftCase: Case = {
  run(desk) {
    const states = desk.device.states({ slots: 2, sizes: [32] })
    const [x, out] = [desk.filled(32), desk.empty(32)]
    return desk.outcome((pass) => pass.run(tokenShift, x, states, 0, out), out)
  },
  misfit(desk) {
    const states = desk.device.states({ slots: 2, sizes: [16] })
    desk.begin().run(tokenShift, desk.empty(32), states, 0, desk.empty(32))
  },
}
