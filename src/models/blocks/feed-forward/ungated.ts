import { type Activations, addNorm, matmul, xielu } from '../../../device/index.js'
import type { UngatedPlan } from '../../model-plan.js'
import type { FeedForward } from './feed-forward.js'

/** W2 gate(W1 x): as before there were gates, which is what the activation is called here all the same. */
export const ungated: FeedForward<UngatedPlan, Activations> = {
  plan: (find, { size }, hidden) => ({
    matrices: { up: find.matrix('up', [size], hidden), down: find.matrix('down', [hidden], size) },
    vectors: {},
  }),

  widths: ({ size }) => ({ written: size, prepared: size }),

  room: (device, { size }, _, rows) => device.activations(rows, size),

  run({ pass, weights, room: inner, hidden, rows, norm, gate, addProduct }) {
    const { matrix, bias } = weights.matrices.up!
    pass.run(matmul, matrix, hidden, inner, { rows, norm, bias })
    const { curve } = weights.vectors
    if (curve) pass.run(xielu, inner, curve, { rows })
    else pass.run(addNorm, inner, inner, { rows, gate })
    addProduct(weights.matrices.down!, inner)
  },
}
