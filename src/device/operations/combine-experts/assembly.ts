import { CombineExperts } from '../../cpu/assembly/abi'
import { floatAt, wordAt } from '../../cpu/assembly/words'

export function combineExperts(args: usize, from: i32, to: i32, _thread: i32): void {
  const chosen = CombineExperts.chosen(args)
  const bytes = (<usize>CombineExperts.columns(args)) << 2
  for (let row = from; row < to; row++) {
    const out = CombineExperts.out(args) + <usize>row * CombineExperts.outStride(args)
    for (let i = 0; i < chosen; i++) {
      const at = row * chosen + i
      const weight = f32x4.splat(floatAt(CombineExperts.weights(args), at + row))
      const x = CombineExperts.x(args) + <usize>wordAt(CombineExperts.placeOf(args), at) * CombineExperts.xStride(args)
      for (let c: usize = 0; c < bytes; c += 16) {
        const value = f32x4.mul(v128.load(x + c), weight)
        v128.store(out + c, i === 0 ? value : f32x4.add(v128.load(out + c), value))
      }
    }
    if (CombineExperts.shared(args) === 0) continue
    const shared = CombineExperts.shared(args) + <usize>row * CombineExperts.sharedStride(args)
    const weight = f32x4.splat(floatAt(CombineExperts.weights(args), row * (chosen + 1) + chosen))
    for (let c: usize = 0; c < bytes; c += 16) {
      v128.store(out + c, f32x4.add(v128.load(out + c), f32x4.mul(v128.load(shared + c), weight)))
    }
  }
}
