import { Xielu } from '../../cpu/assembly/abi'
import { exp4 } from '../../cpu/assembly/exp'

export function xielu(args: usize, from: i32, to: i32, _thread: i32): void {
  const curve = Xielu.curve(args)
  const beta = load<f32>(curve, 8)
  const least = f32x4.splat(load<f32>(curve, 12))
  const above = f32x4.splat(softplus(load<f32>(curve)))
  const below = f32x4.splat(beta + softplus(load<f32>(curve, 4)))
  const betas = f32x4.splat(beta)
  const bytes = (<usize>Xielu.columns(args)) << 2
  for (let row = <usize>from; row < <usize>to; row++) {
    const x = Xielu.x(args) + row * Xielu.stride(args)
    for (let i: usize = 0; i < bytes; i += 16) {
      const v = v128.load(x + i)
      const squares = f32x4.mul(above, f32x4.mul(v, v))
      const rest = f32x4.sub(f32x4.sub(exp4(f32x4.pmin(v, least)), f32x4.splat(1)), v)
      const bent = v128.bitselect(squares, f32x4.mul(below, rest), f32x4.gt(v, f32x4.splat(0)))
      v128.store(x + i, f32x4.add(bent, f32x4.mul(betas, v)))
    }
  }
}

/** log(1 + e^x) */
function softplus(x: f32): f32 {
  return x > 20 ? x : Mathf.log1p(f32x4.extract_lane(exp4(f32x4.splat(x)), 0))
}
