/** A case of each operation. */
import { addNormCase } from './add-norm/case.test-helper.js'
import { attendCase } from './attend/case.test-helper.js'
import { combineExpertsCase } from './combine-experts/case.test-helper.js'
import { convolveCase } from './convolve/case.test-helper.js'
import { deltaCase } from './delta/case.test-helper.js'
import type { Case } from './desk.test-helper.js'
import { embedCase } from './embed/case.test-helper.js'
import { expertMatmulCase } from './expert-matmul/case.test-helper.js'
import { gateCase } from './gate/case.test-helper.js'
import { gatherRowsCase } from './gather-rows/case.test-helper.js'
import type { OPERATIONS } from './index.js'
import { matmulCase } from './matmul/case.test-helper.js'
import { poolCase } from './pool/case.test-helper.js'
import { ropeCase } from './rope/case.test-helper.js'
import { sampleCase } from './sample/case.test-helper.js'
import { tokenShiftCase } from './token-shift/case.test-helper.js'
import { topKExpertsCase } from './top-k-experts/case.test-helper.js'
import { xieluCase } from './xielu/case.test-helper.js'

export type CaseName = keyof typeof OPERATIONS

export const CASES: { readonly [N in CaseName]: Case } = {
  ...{ addNorm: addNormCase, attend: attendCase, combineExperts: combineExpertsCase, convolve: convolveCase },
  ...{ delta: deltaCase, embed: embedCase, expertMatmul: expertMatmulCase, gate: gateCase, gatherRows: gatherRowsCase },
  ...{ matmul: matmulCase, pool: poolCase, rope: ropeCase, sample: sampleCase, tokenShift: tokenShiftCase },
  ...{ topKExperts: topKExpertsCase, xielu: xieluCase },
}
