import { type Activations, matmul } from '../../../device/index.js'
import type { GatedPlan } from '../../model-plan.js'
import type { FeedForward } from './feed-forward.js'

/** W2 (gate(W1 x) * V x): what nearly all models have. */
export const gated: FeedForward<GatedPlan, Activations> = {
  plan: (find, { size }, hidden) => ({
    matrices: { gateUp: find.matrix('gateUp', [size, size], hidden), down: find.matrix('down', [hidden], size) },
    vectors: {},
  }),

  widths: ({ size }) => ({ written: size, prepared: size }),

  room: (device, { size }, _, rows) => device.activations(rows, size),

  run({ pass, weights, room: inner, hidden, rows, norm, gate, addProduct }) {
    const { matrix, bias } = weights.matrices.gateUp!
    pass.run(matmul, matrix, hidden, inner, { rows, norm, gated: true, gate, bias })
    addProduct(weights.matrices.down!, inner)
  },
}
