import type { Case } from '../desk.test-helper.js'
import { join } from './index.js'

export const joinCase: Case = {
  run(desk) {
    const [x, out, weight] = [desk.filled(32), desk.filled(32), desk.vector(32)]
    return desk.outcome((pass) => pass.run(join, x, out, { norm: { weight, epsilon: 1e-5 }, scale: 3, add: true }), out)
  },
  misfit: (desk) => desk.begin().run(join, desk.empty(32), desk.empty(16), {}),
}
