import { GatherRows } from '../../cpu/assembly/abi'

export function gatherRows(args: usize, from: i32, to: i32, _thread: i32): void {
  const rows = GatherRows.rows(args)
  for (let i = <usize>from; i < <usize>to; i++) {
    const row = rows === 0 ? i : <usize>load<i32>(rows + (i << 2))
    const out = GatherRows.out(args) + i * GatherRows.outStride(args)
    memory.copy(out, GatherRows.x(args) + row * GatherRows.xStride(args), GatherRows.bytes(args))
  }
}
