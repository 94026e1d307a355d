/** The operations of a pass: a folder each. */
import { type Activations, type Batch, PAGE } from '../contract.js'
import { attend } from './attend/index.js'
import { carry } from './carry/index.js'
import { collect } from './collect/index.js'
import { convolve } from './convolve/index.js'
import { atLeast, type BatchShape } from './define.js'
import { delta } from './delta/index.js'
import { embed } from './embed/index.js'
import { gate } from './gate/index.js'
import { join } from './join/index.js'
import { matmul } from './matmul/index.js'
import { pick } from './pick/index.js'
import { pool } from './pool/index.js'
import { rope } from './rope/index.js'
import { route } from './route/index.js'
import { routed } from './routed/index.js'
import { sample } from './sample/index.js'
import { xielu } from './xielu/index.js'

export const OPERATIONS = {
  ...{ attend, carry, collect, convolve, delta, embed, gate, join, matmul, pick, pool, rope, route, routed, sample },
  xielu,
}

/** What is written into rows is as wide as they are. */
export function writeFits(out: Activations, values: Float32Array): void {
  atLeast('Values to write into', out.rows * out.columns, values.length)
  if (values.length % out.columns !== 0) throw new RangeError(`${values.length} values for rows of ${out.columns}.`)
}

export function shapeOf({ spans }: Batch): BatchShape {
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
