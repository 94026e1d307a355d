import {
  type Activations,
  addNorm,
  combineExperts,
  expertMatmul,
  gate as gateRows,
  matmul,
  type Routing,
  topKExperts,
} from '../../../device/index.js'
import type { ExpertsPlan } from '../../model-plan.js'
import type { FeedForward, FeedForwardRun } from './feed-forward.js'

export interface ExpertsRoom {
  /** Rows as they are read. */
  readonly normed: Activations
  readonly scores: Activations
  readonly routing: Routing
  /** Gates, then values, of each row's experts, and what becomes of them. */
  readonly both: Activations
  readonly inner: Activations
  readonly each: Activations
  /** Of what all rows go through. */
  readonly sharedInner?: Activations
  readonly shared?: Activations
  /** What is added to the stream. */
  readonly sum: Activations
  destroy(): void
}

/** Each row goes through those of many gated MLPs that a router chooses for it; no others are computed. */
export const experts: FeedForward<ExpertsPlan, ExpertsRoom> = {
  plan: (find, { experts, size, choiceBias, factors, shared }, hidden) => ({
    matrices: {
      // Small, and which experts are chosen hangs on it.
      router: { ...find.matrix('router', [experts, ...(shared?.weighed ? [1] : [])], hidden), quantize: false },
      expertsIn: find.experts('expertsIn', experts, [size, size], hidden),
      expertsOut: find.experts('expertsOut', experts, [hidden], size),
      ...(shared && {
        sharedIn: find.matrix('sharedIn', [shared.size, shared.size], hidden),
        sharedOut: find.matrix('sharedOut', [hidden], shared.size),
      }),
    },
    vectors: {
      ...(choiceBias && { choiceBias: find.vector('choiceBias', experts) }),
      ...(factors && { expertFactors: find.vector('expertFactors', experts) }),
    },
  }),

  widths({ experts, chosen, size, shared }, hidden) {
    const beside = shared ? shared.size + hidden : 0
    const routing = 3 * chosen + 1
    return {
      written: 2 * hidden + experts + chosen * (3 * size + hidden) + routing + beside,
      prepared: hidden + chosen * (hidden + size) + (shared?.size ?? 0),
    }
  },

  room(device, { experts, chosen, size, shared }, hidden, rows) {
    const room = {
      normed: device.activations(rows, hidden),
      scores: device.activations(rows, experts + (shared?.weighed ? 1 : 0)),
      routing: device.routing({ rows, experts, chosen }),
      both: device.activations(rows * chosen, 2 * size),
      inner: device.activations(rows * chosen, size),
      each: device.activations(rows * chosen, hidden),
      ...(shared && {
        sharedInner: device.activations(rows, shared.size),
        shared: device.activations(rows, hidden),
      }),
      sum: device.activations(rows, hidden),
    }
    return {
      ...room,
      destroy() {
        for (const one of Object.values(room)) one.destroy()
      },
    }
  },

  run(run) {
    const { pass, room, hidden, rows, norm, addRows } = run
    if (norm) pass.run(addNorm, hidden, room.normed, { rows, norm })
    addExperts(run, norm ? room.normed : hidden)
    addRows(room.sum)
  },
}

type ExpertsRun = Pick<FeedForwardRun<ExpertsPlan, ExpertsRoom>, 'pass' | 'plan' | 'weights' | 'room' | 'rows' | 'gate'>

/** What the experts make of rows `x` goes to `room.sum`. `scored`: what their router reads. */
export function addExperts(
  { pass, plan, weights, room, rows, gate }: ExpertsRun,
  x: Activations,
  scored: Activations = x,
): void {
  const { router, expertsIn, expertsOut, sharedIn, sharedOut } = weights.matrices
  const { choiceBias, expertFactors } = weights.vectors
  const { scores, routing, both, inner, each, sum, shared, sharedInner } = room
  const { chosen, size } = plan
  pass.run(matmul, router!.matrix, scored, scores, { rows, bias: router!.bias })
  pass.run(topKExperts, scores, routing, {
    ...{ rows, scores: plan.scores, normed: plan.normed, scale: plan.scale },
    ...{ bias: choiceBias, factors: expertFactors, shared: plan.shared?.weighed },
  })
  const { matrix, halves, bias } = expertsIn!
  pass.run(expertMatmul, matrix, x, both, routing, { rows, from: 'rows', halves, bias })
  pass.run(gateRows, both, both, inner, { rows: rows * chosen, gate, valuesFrom: size })
  pass.run(expertMatmul, expertsOut!.matrix, inner, each, routing, { rows, from: 'places', bias: expertsOut!.bias })
  if (shared) {
    pass.run(matmul, sharedIn!.matrix, x, sharedInner!, { rows, gated: true, gate, bias: sharedIn!.bias })
    pass.run(matmul, sharedOut!.matrix, sharedInner!, shared, { rows, bias: sharedOut!.bias })
  }
  pass.run(combineExperts, each, sum, routing, { rows, shared })
}
