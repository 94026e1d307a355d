/** Each row of a span is given the one before it, which for the first is in a state. */
import { TokenShift } from '../../cpu/assembly/abi'
import { firstRow, leavesState, rowsOf, stateAfter, stateBefore } from '../../cpu/assembly/spans'

export function tokenShift(args: usize, from: i32, to: i32, _thread: i32): void {
  for (let span = from; span < to; span++) carrySpan(args, span)
}

/** A span may read and write the same slot. */
function carrySpan(args: usize, span: i32): void {
  const spans = TokenShift.spans(args)
  const first = firstRow(spans, span)
  const rows = rowsOf(spans, span)
  const bytes = (<usize>TokenShift.columns(args)) << 2
  const before = stateBefore(spans, span, TokenShift.state(args), TokenShift.slotBytes(args))
  const keeps = TokenShift.keeps(args)
  const inputs = TokenShift.x(args) + first * TokenShift.xStride(args)
  const outputs = TokenShift.out(args) + first * TokenShift.outStride(args)
  for (let c: usize = 0; c < bytes; c += 16) {
    v128.store(outputs + c, before === 0 ? f32x4.splat(0) : v128.load(before + c))
  }
  for (let row = 0; row < rows; row++) {
    const x = inputs + <usize>row * TokenShift.xStride(args)
    if (row + 1 < rows) memory.copy(outputs + <usize>(row + 1) * TokenShift.outStride(args), x, bytes)
    if (!keeps || !leavesState(spans, span, row)) continue
    memory.copy(stateAfter(spans, span, row, TokenShift.state(args), TokenShift.slotBytes(args)), x, bytes)
  }
}
