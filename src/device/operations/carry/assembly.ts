/** Each row of a span is given the one before it, which for the first is in a state. */
import { Carry } from '../../cpu/assembly/abi'
import { firstRow, rowsOf, stateAfter, stateBefore } from '../../cpu/assembly/spans'

export function carry(args: usize, from: i32, to: i32, _thread: i32): void {
  for (let span = from; span < to; span++) carrySpan(args, span)
}

/** A span may read and write the same slot. */
function carrySpan(args: usize, span: i32): void {
  const spans = Carry.spans(args)
  const first = firstRow(spans, span)
  const rows = rowsOf(spans, span)
  const bytes = (<usize>Carry.columns(args)) << 2
  const before = stateBefore(spans, span, Carry.state(args), Carry.slotBytes(args))
  const after = stateAfter(spans, span, Carry.state(args), Carry.slotBytes(args))
  const keeps = Carry.keeps(args)
  for (let c: usize = 0; c < bytes; c += 16) {
    let x = Carry.x(args) + first * Carry.xStride(args) + c
    let out = Carry.out(args) + first * Carry.outStride(args) + c
    let value = before === 0 ? f32x4.splat(0) : v128.load(before + c)
    for (let row = 0; row < rows; row++) {
      v128.store(out, value)
      value = v128.load(x)
      x += Carry.xStride(args)
      out += Carry.outStride(args)
    }
    if (keeps) v128.store(after + c, value)
  }
}
