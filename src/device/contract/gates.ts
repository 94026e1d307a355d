/** What a gate goes through. */

/**
 * `gelu` is the one that is computed by tanh, `gelu_erf` the exact one; `relu2` is relu times itself. `clamped` is gpt-oss's: of
 * at most 7, x * sigmoid(1.702 x); what it is multiplied with lies between -7 and 7, and gets one more.
 */
export const GATES = ['silu', 'gelu', 'gelu_erf', 'sigmoid', 'relu', 'relu2', 'clamped'] as const
export type Gate = (typeof GATES)[number]
/** As the CPU's kernels know it; 0 is none. */
export const gateCode = (gate: Gate): number => GATES.indexOf(gate) + 1
