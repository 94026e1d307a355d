/** The operations of a pass: a folder each. */
import { type Activations, type Batch, PAGE } from '../contract.js'
import { addNorm } from './add-norm/index.js'
import { attend } from './attend/index.js'
import { combineExperts } from './combine-experts/index.js'
import { convolve } from './convolve/index.js'
import { atLeast, type BatchShape } from './define.js'
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

/** What is written into rows is as wide as they are. */
export function writeFits(out: Activations, values: Float32Array): void {
  atLeast('Values to write into', out.rows * out.columns, values.length)
  if (values.length % out.columns !== 0) throw new RangeError(`${values.length} values for rows of ${out.columns}.`)
}

export function batchShapeOf({ spans }: Batch): BatchShape {
  let rows = 0
  let longest = 0
  for (const { tokens, position, pages } of spans) {
    const end = position + tokens.length
    atLeast('Pages of a sequence', pages.length * PAGE, end)
    rows += tokens.length
    longest = Math.max(longest, end)
  }
  return { spans, rows, longest }
}
