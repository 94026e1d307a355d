import type { Gate } from '../../contract.js'

export type { Gate }

/** What the value `gate` goes through. The gelu that tanh computes is its sigmoid form: x / (1 + e^(-2 u)). */
export function gateOf(gate: Gate = 'silu'): string {
  if (gate === 'sigmoid') return '1.0 / (1.0 + exp(-gate))'
  if (gate === 'silu') return 'gate / (1.0 + exp(-gate))'
  // Of one value and of four alike.
  if (gate === 'relu') return '0.5 * (gate + abs(gate))'
  if (gate === 'relu2') return '0.5 * gate * (gate + abs(gate))'
  if (gate === 'gelu_erf') return 'exactGelu(vec4<f32>(gate)).x'
  if (gate === 'clamped') return 'clampedGate(vec4<f32>(gate)).x'
  return 'gate / (1.0 + exp(-1.5957691216 * gate * fma(0.044715 * gate, gate, 1.0)))'
}

/** What is multiplied with it: most gates take the value, an expression, as it is. */
export function gatedBy(gate: Gate | undefined, value: string): string {
  return gate === 'clamped' ? `clampedValue(vec4<f32>(${value})).x` : `(${value})`
}

/** Four at once. */
export const fourGatedBy = (gate: Gate, value: string): string =>
  gate === 'clamped' ? `clampedValue(${value})` : value

/**
 * The functions that `gateOf` asks for. erfc(|x| / sqrt 2) is Abramowitz and Stegun's 7.1.26, within 1.5e-7: half of it is
 * what lies beyond |x| of the normal distribution, so that x loses no digits far out.
 */
export function gateFunctions(gate: Gate | undefined): string {
  if (gate === 'clamped') return CLAMPED
  if (gate !== 'gelu_erf') return ''
  return /* wgsl */ `
fn exactGelu(x: vec4<f32>) -> vec4<f32> {
  let far = abs(x) * 0.70710678118;
  let t = 1.0 / (1.0 + 0.3275911 * far);
  let sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return max(x, vec4<f32>()) - abs(x) * (0.5 * sum * exp(-far * far));
}`
}

const CLAMPED = /* wgsl */ `
fn clampedGate(x: vec4<f32>) -> vec4<f32> {
  let most = min(x, vec4<f32>(7.0));
  return most / (1.0 + exp(-1.702 * most));
}
fn clampedValue(x: vec4<f32>) -> vec4<f32> { return clamp(x, vec4<f32>(-7.0), vec4<f32>(7.0)) + 1.0; }`

/** Four values at once. */
export function gateFour(gate: Gate): string {
  if (gate === 'clamped') return 'clampedGate(gate)'
  return gate === 'gelu_erf'
    ? 'exactGelu(gate)'
    : gateOf(gate).replaceAll('fma(0.044715 * gate, gate, 1.0)', '(0.044715 * gate * gate + 1.0)')
}
