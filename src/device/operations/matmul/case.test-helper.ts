import type { Case } from '../desk.test-helper.js'
import { matmul } from './index.js'

export const matmulCase: Case = {
  run(desk) {
    const [matrix, x, out] = [desk.matrix(48, 32), desk.filled(32), desk.empty(24)]
    const norm = { weight: desk.vector(32), epsilon: 1e-5 }
    return desk.outcome((pass) => pass.run(matmul, matrix, x, out, { norm, gated: true }), out)
  },
  misfit: (desk) => desk.begin().run(matmul, desk.matrix(24, 32), desk.empty(32), desk.empty(16)),
}
