import type { Case } from '../desk.test-helper.js'
import { experts } from '../experts.test-helper.js'
import { expertMatmul } from './index.js'

export const expertMatmulCase: Case = {
  run(desk) {
    const { out, record } = experts(desk)
    return desk.outcome((pass) => record(pass, { scores: 'softmax' }), out)
  },
  misfit(desk) {
    const { routing } = experts(desk)
    const [matrix, x, out] = [desk.matrix(6 * 32, 32), desk.empty(32), desk.empty(32, 10)]
    desk.begin().run(expertMatmul, matrix, x, out, routing, { from: 'places' })
  },
}
