import type { Activations, Pass } from '../contract.js'
import { combineExperts } from './combine-experts/index.js'
import { type Desk, ROWS } from './desk.test-helper.js'
import { expertMatmul } from './expert-matmul/index.js'
import { gate } from './gate/index.js'
import { type TopKExpertsOptions, topKExperts } from './top-k-experts/index.js'

/** Six experts with a gated MLP each, of which a row goes to two. */
export function experts(desk: Desk) {
  const [count, chosen, size, columns] = [6, 2, 32, 32]
  const routing = desk.device.routing({ rows: ROWS + 3, experts: count, chosen })
  const [x, scores, out] = [desk.filled(columns), desk.filled(count + 2), desk.empty(columns)]
  const [into, outOf] = [desk.matrix(count * 2 * size, columns), desk.matrix(count * 32, size)]
  const [both, inner, each] = [2 * size, size, 32].map((width) => desk.empty(width, ROWS * chosen)) as Activations[]
  const record = (pass: Pass, options: TopKExpertsOptions) => {
    const bias = desk.vector(count * 2 * size)
    pass.run(topKExperts, scores, routing, options)
    pass.run(expertMatmul, into, x, both!, routing, { rows: ROWS, from: 'rows', halves: true, bias })
    pass.run(gate, both!, both!, inner!, { gate: 'silu', valuesFrom: size, rows: ROWS * chosen })
    pass.run(expertMatmul, outOf, inner!, each!, routing, { from: 'places' })
    pass.run(combineExperts, each!, out, routing, { shared: x })
  }
  return { routing, out, record }
}
