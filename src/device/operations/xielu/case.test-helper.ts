import type { Case } from '../desk.test-helper.js'
import { xielu } from './index.js'

export const xieluCase: Case = {
  run(desk) {
    const [x, curve] = [desk.filled(32), desk.vector(4)]
    return desk.outcome((pass) => pass.run(xielu, x, curve, {}), x)
  },
  misfit: (desk) => desk.begin().run(xielu, desk.empty(32), desk.vector(3), {}),
}
