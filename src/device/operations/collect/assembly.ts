import { Collect } from '../../cpu/assembly/abi'
import { floatAt, wordAt } from '../../cpu/assembly/words'

export function collect(args: usize, from: i32, to: i32, _thread: i32): void {
  const chosen = Collect.chosen(args)
  const bytes = (<usize>Collect.columns(args)) << 2
  for (let row = from; row < to; row++) {
    const out = Collect.out(args) + <usize>row * Collect.outStride(args)
    for (let i = 0; i < chosen; i++) {
      const at = row * chosen + i
      const weight = f32x4.splat(floatAt(Collect.weights(args), at + row))
      const x = Collect.x(args) + <usize>wordAt(Collect.placeOf(args), at) * Collect.xStride(args)
      for (let c: usize = 0; c < bytes; c += 16) {
        const value = f32x4.mul(v128.load(x + c), weight)
        v128.store(out + c, i === 0 ? value : f32x4.add(v128.load(out + c), value))
      }
    }
    if (Collect.shared(args) === 0) continue
    const shared = Collect.shared(args) + <usize>row * Collect.sharedStride(args)
    const weight = f32x4.splat(floatAt(Collect.weights(args), row * (chosen + 1) + chosen))
    for (let c: usize = 0; c < bytes; c += 16) {
      v128.store(out + c, f32x4.add(v128.load(out + c), f32x4.mul(v128.load(shared + c), weight)))
    }
  }
}
