import type { Case } from '../desk.test-helper.js'
import { convolve, MAX_TAPS } from './index.js'

export const convolveCase: Case = {
  run(desk) {
    const states = desk.device.states({ slots: 2, sizes: [(MAX_TAPS - 1) * 16] })
    const [x, out, taps] = [desk.filled(48), desk.empty(16), desk.vector(MAX_TAPS * 16)]
    return desk.outcome((pass) => pass.run(convolve, x, states, 0, out, { taps, form: 'gated' }), out)
  },
  misfit(desk) {
    const states = desk.device.states({ slots: 2, sizes: [16] })
    desk
      .begin()
      .run(convolve, desk.empty(48), states, 0, desk.empty(16), { taps: desk.vector(MAX_TAPS * 16), form: 'gated' })
  },
}
