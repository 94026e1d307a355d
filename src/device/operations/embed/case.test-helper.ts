import type { Case } from '../desk.test-helper.js'
import { embed } from './index.js'

export const embedCase: Case = {
  run: (desk) => desk.outcome(() => {}, desk.filled(32)),
  misfit: (desk) => desk.begin().run(embed, desk.matrix(5, 32), desk.empty(28)),
}
