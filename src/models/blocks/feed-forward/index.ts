/** The kinds of feed-forwards. */
import type { FeedForwardPlan } from '../../model-plan.js'
import { experts } from './experts.js'
import type { FeedForward, FeedForwardRoom } from './feed-forward.js'
import { gated } from './gated.js'
import { mixed } from './mixed.js'
import { ungated } from './ungated.js'

const KINDS: {
  readonly [Kind in FeedForwardPlan['kind']]: FeedForward<Extract<FeedForwardPlan, { kind: Kind }>, FeedForwardRoom>
} = { gated, ungated, experts, mixed }

export function feedForwardOf(plan: FeedForwardPlan): FeedForward<FeedForwardPlan, FeedForwardRoom> {
  // A layer's is only ever given to its own kind.
  return KINDS[plan.kind] as unknown as FeedForward<FeedForwardPlan, FeedForwardRoom>
}
