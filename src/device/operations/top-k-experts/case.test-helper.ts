import type { Case } from '../desk.test-helper.js'
import { experts } from '../experts.test-helper.js'
import { topKExperts } from './index.js'

export const topKExpertsCase: Case = {
  run(desk) {
    const { out, record } = experts(desk)
    const [bias, factors] = [desk.vector(6), desk.vector(6)]
    const options = { scores: 'sigmoid', normed: true, scale: 3, bias, factors, shared: true } as const
    return desk.outcome((pass) => record(pass, options), out)
  },
  misfit(desk) {
    const { routing } = experts(desk)
    desk.begin().run(topKExperts, desk.empty(5), routing, { scores: 'softmax' })
  },
}
