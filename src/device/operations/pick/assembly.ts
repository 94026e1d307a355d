import { Pick } from '../../cpu/assembly/abi'

export function pick(args: usize, from: i32, to: i32, _thread: i32): void {
  const rows = Pick.rows(args)
  for (let i = <usize>from; i < <usize>to; i++) {
    const row = rows === 0 ? i : <usize>load<i32>(rows + (i << 2))
    const out = Pick.out(args) + i * Pick.outStride(args)
    memory.copy(out, Pick.x(args) + row * Pick.xStride(args), Pick.bytes(args))
  }
}
