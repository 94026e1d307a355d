import { Pool } from '../../cpu/assembly/abi'

export function pool(args: usize, from: i32, to: i32, _thread: i32): void {
  for (let i = from; i < to; i++) {
    const firsts = Pool.firsts(args) + ((<usize>i) << 2)
    const first = load<i32>(firsts)
    const x = Pool.x(args) + <usize>first * Pool.xStride(args)
    const out = Pool.out(args) + <usize>i * Pool.outStride(args)
    meanRows(x, Pool.xStride(args), load<i32>(firsts, 4) - first, out, Pool.columns(args))
  }
}

/** The mean of each of `k` columns, a multiple of 4, over `rows` rows. */
function meanRows(x: usize, xStride: usize, rows: i32, out: usize, k: i32): void {
  const share = f32x4.splat(1 / <f32>rows)
  for (let i: usize = 0; i < (<usize>k) << 2; i += 16) {
    let sum = f32x4.splat(0)
    for (let row: usize = 0; row < <usize>rows; row++) sum = f32x4.add(sum, v128.load(x + row * xStride + i))
    v128.store(out + i, f32x4.mul(sum, share))
  }
}
