/** The operations of a pass: a folder each. */
import { addNorm } from './add-norm/index.js'
import { attend } from './attend/index.js'
import { combineExperts } from './combine-experts/index.js'
import { convolve } from './convolve/index.js'
import { delta } from './delta/index.js'
import { embed } from './embed/index.js'
import { expertMatmul } from './expert-matmul/index.js'
import { gate } from './gate/index.js'
import { gatherRows } from './gather-rows/index.js'
import { matmul } from './matmul/index.js'
import { pool } from './pool/index.js'
import { rope } from './rope/index.js'
import { sample } from './sample/index.js'
import { tokenShift } from './token-shift/index.js'
import { topKExperts } from './top-k-experts/index.js'
import { xielu } from './xielu/index.js'

export const OPERATIONS = {
  ...{ addNorm, attend, combineExperts, convolve, delta, embed, expertMatmul, gate, gatherRows, matmul, pool, rope },
  ...{ sample, tokenShift, topKExperts, xielu },
}
