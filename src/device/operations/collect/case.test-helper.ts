import type { Case } from '../desk.test-helper.js'
import { experts } from '../experts.test-helper.js'
import { collect } from './index.js'

export const collectCase: Case = {
  run(desk) {
    const { out, record } = experts(desk)
    return desk.outcome((pass) => record(pass, { scores: 'softmax', normed: true }), out)
  },
  misfit(desk) {
    const { routing } = experts(desk)
    desk.begin().run(collect, desk.empty(32), desk.empty(32), routing)
  },
}
