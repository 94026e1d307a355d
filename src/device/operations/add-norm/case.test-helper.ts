import type { Case } from '../desk.test-helper.js'
import { addNorm } from './index.js'

export const addNormCase: Case = {
  run(desk) {
    const [x, out, weight] = [desk.filled(32), desk.filled(32), desk.vector(32)]
    return desk.outcome(
      (pass) => pass.run(addNorm, x, out, { norm: { weight, epsilon: 1e-5 }, scale: 3, add: true }),
      out,
    )
  },
  misfit: (desk) => desk.begin().run(addNorm, desk.empty(32), desk.empty(16), {}),
}
