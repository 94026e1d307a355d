import type { Case } from '../desk.test-helper.js'
import { gatherRows } from './index.js'

export const gatherRowsCase: Case = {
  run(desk) {
    const [x, out] = [desk.filled(32), desk.empty(32, 3)]
    return desk.outcome((pass) => pass.run(gatherRows, x, Int32Array.of(4, 0, 4), out), out, 3)
  },
  misfit: (desk) => desk.begin().run(gatherRows, desk.empty(32), Int32Array.of(1, 2), desk.empty(32, 1)),
}
