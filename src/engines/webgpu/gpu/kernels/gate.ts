import type { Gate } from '../../contract.js'

export type { Gate }

/** What the value `gate` goes through. The gelu that tanh computes is its sigmoid form: x / (1 + e^(-2 u)). */
export function gateOf(gate: Gate = 'silu'): string {
  if (gate === 'silu') return 'gate / (1.0 + exp(-gate))'
  return 'gate / (1.0 + exp(-1.5957691216 * gate * fma(0.044715 * gate, gate, 1.0)))'
}
