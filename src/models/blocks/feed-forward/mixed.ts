import { type Activations, addNorm, matmul } from '../../../device/index.js'
import type { MixedPlan } from '../../model-plan.js'
import { addExperts, type ExpertsRoom, experts } from './experts.js'
import type { FeedForward } from './feed-forward.js'
import { gated } from './gated.js'

interface MixedRoom {
  readonly inner: Activations
  /** What the MLP gives, then the sum of both. */
  readonly sum: Activations
  /** What the router reads. */
  readonly scored: Activations
  readonly experts: ExpertsRoom
  destroy(): void
}

/** A gated MLP that all rows go through, and experts beside it: see `MixedPlan`. */
export const mixed: FeedForward<MixedPlan, MixedRoom> = {
  plan(find, { size, experts: plan }, hidden) {
    const [dense, beside] = [gated.plan(find, { kind: 'gated', size }, hidden), experts.plan(find, plan, hidden)]
    return {
      matrices: { ...dense.matrices, ...beside.matrices },
      vectors: {
        ...beside.vectors,
        // Scores would grow with the width.
        routerNorm: { ...find.vector('routerNorm', hidden), scale: hidden ** -0.5 },
        expertsNorm: find.norm('expertsNorm', hidden),
        expertsAfter: find.norm('expertsAfter', hidden),
        denseAfter: find.norm('denseAfter', hidden),
      },
    }
  },

  widths({ size, experts: plan }, hidden) {
    const { written, prepared } = experts.widths(plan, hidden)
    return { written: written + size + 2 * hidden, prepared: prepared + size + hidden }
  },

  room(device, { size, experts: plan }, hidden, rows) {
    const room = {
      inner: device.activations(rows, size),
      sum: device.activations(rows, hidden),
      scored: device.activations(rows, hidden),
      experts: experts.room(device, plan, hidden, rows),
    }
    return {
      ...room,
      destroy() {
        for (const one of Object.values(room)) one.destroy()
      },
    }
  },

  run({ pass, plan, weights, room, hidden, rows, norm, gate, epsilon, addRows }) {
    const { gateUp, down } = weights.matrices
    const { routerNorm, expertsNorm, expertsAfter, denseAfter } = weights.vectors
    const { inner, sum, scored } = room
    const after = (weight: typeof denseAfter) => ({ rows, norm: { weight: weight!, epsilon } })
    const before = (weight: typeof denseAfter) => ({ rows, norm: { ...norm!, weight: weight! } })
    pass.run(matmul, gateUp!.matrix, hidden, inner, { rows, norm, gated: true, gate, bias: gateUp!.bias })
    pass.run(matmul, down!.matrix, inner, sum, { rows, bias: down!.bias })
    pass.run(addNorm, sum, sum, after(denseAfter))
    pass.run(addNorm, hidden, scored, before(routerNorm))
    pass.run(addNorm, hidden, room.experts.normed, before(expertsNorm))
    addExperts({ pass, plan: plan.experts, weights, room: room.experts, rows, gate }, room.experts.normed, scored)
    pass.run(addNorm, room.experts.sum, sum, { ...after(expertsAfter), add: true })
    addRows(sum)
  },
}
