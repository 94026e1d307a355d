import type { Case } from '../desk.test-helper.js'
import { pool } from './index.js'

export const poolCase: Case = {
  run(desk) {
    const [x, out] = [desk.filled(32), desk.empty(32, 2)]
    return desk.outcome((pass) => pass.run(pool, x, out), out, 2)
  },
  misfit: (desk) => desk.begin().run(pool, desk.empty(32), desk.empty(32, 1)),
}
