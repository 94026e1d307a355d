/** Each row of a span is given the one before it, which for the first is in a state. */
import { Carry } from '../../cpu/assembly/abi'
import { firstRow, leavesState, rowsOf, stateAfter, stateBefore } from '../../cpu/assembly/spans'

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
  const keeps = Carry.keeps(args)
  const inputs = Carry.x(args) + first * Carry.xStride(args)
  const outputs = Carry.out(args) + first * Carry.outStride(args)
  for (let c: usize = 0; c < bytes; c += 16) {
    v128.store(outputs + c, before === 0 ? f32x4.splat(0) : v128.load(before + c))
  }
  for (let row = 0; row < rows; row++) {
    const x = inputs + <usize>row * Carry.xStride(args)
    if (row + 1 < rows) memory.copy(outputs + <usize>(row + 1) * Carry.outStride(args), x, bytes)
    if (!keeps || !leavesState(spans, span, row)) continue
    memory.copy(stateAfter(spans, span, row, Carry.state(args), Carry.slotBytes(args)), x, bytes)
  }
}
