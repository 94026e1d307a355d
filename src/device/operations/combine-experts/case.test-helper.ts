import type { Case } from '../desk.test-helper.js'
import { experts } from '../experts.test-helper.js'
import { combineExperts } from './index.js'

export const combineExpertsCase: Case = {
  run(desk) {
    const { out, record } = experts(desk)
    return desk.outcome((pass) => record(pass, { scores: 'softmax', normed: true }), out)
  },
  misfit(desk) {
    const { routing } = experts(desk)
    desk.begin().run(combineExperts, desk.empty(32), desk.empty(32), routing)
  },
}
