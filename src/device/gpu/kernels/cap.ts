import { float } from './kernel.js'

/** cap * tanh(x / cap), in the form that neither overflows nor is left to a device. `x` is a name; scalar or vector. */
export function capped(x: string, cap: number): string {
  return `(${float(cap)} - ${float(2 * cap)} / (1.0 + exp(${x} * ${float(2 / cap)})))`
}
