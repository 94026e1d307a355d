/**
 * out = x * scale, or out += it, for rows of `parts` times `columns` values, a multiple of 4. `weight` 0: no norm goes
 * before, else one of each part that takes the mean away first where it is `centred`, and adds what is at `bias` if that is
 * not 0. `gate`, `cap`, `total` 0: none.
 */
import { AddNorm } from '../../cpu/assembly/abi'
import { cap4, gate4, sum4 } from '../../cpu/assembly/elementwise'

export function addNorm(args: usize, from: i32, to: i32, _thread: i32): void {
  const k = AddNorm.columns(args)
  const bytes = (<usize>k) << 2
  const parts = AddNorm.parts(args)
  const weight = AddNorm.weight(args)
  const bias = AddNorm.bias(args)
  const gate = AddNorm.gate(args)
  const cap = AddNorm.cap(args)
  const add = AddNorm.add(args)
  const total = AddNorm.total(args)
  const totals = f32x4.splat(total !== 0 ? load<f32>(total) : 1)
  for (let part = from * parts; part < to * parts; part++) {
    const row = <usize>(part / parts)
    const at = <usize>(part % parts) * bytes
    const p = AddNorm.x(args) + row * AddNorm.xStride(args) + at
    const o = AddNorm.out(args) + row * AddNorm.outStride(args) + at
    let factor = AddNorm.scale(args)
    const mean = f32x4.splat(AddNorm.centred(args) ? meanOf(p, bytes) : 0)
    if (weight !== 0) {
      let sums = f32x4.splat(0)
      for (let i: usize = 0; i < bytes; i += 16) {
        const v = f32x4.sub(v128.load(p + i), mean)
        sums = f32x4.add(sums, f32x4.mul(v, v))
      }
      factor /= sqrt<f32>(sum4(sums) / <f32>k + AddNorm.epsilon(args))
    }
    const factors = f32x4.splat(factor)
    for (let i: usize = 0; i < bytes; i += 16) {
      let v = f32x4.mul(f32x4.sub(v128.load(p + i), mean), factors)
      if (weight !== 0) v = f32x4.mul(v, v128.load(weight + i))
      if (bias !== 0) v = f32x4.add(v, v128.load(bias + i))
      if (gate > 0) v = gate4(gate, v)
      if (cap > 0) v = cap4(v, cap)
      if (add) v = f32x4.add(v128.load(o + i), v)
      if (total !== 0) v = f32x4.mul(v, totals)
      v128.store(o + i, v)
    }
  }
}

function meanOf(p: usize, bytes: usize): f32 {
  let sums = f32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 16) sums = f32x4.add(sums, v128.load(p + i))
  return sum4(sums) / <f32>(bytes >> 2)
}
