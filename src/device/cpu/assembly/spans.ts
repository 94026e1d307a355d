/**
 * The spans of a pass, as `batch.ts` writes them: first row, rows, the slot of their states before, and where a list of
 * those after each row begins.
 */

function at(spans: usize, span: i32, index: i32): i32 {
  return load<i32>(spans + ((<usize>(span * 4 + index)) << 2))
}

export function firstRow(spans: usize, span: i32): usize {
  return <usize>at(spans, span, 0)
}

export function rowsOf(spans: usize, span: i32): i32 {
  return at(spans, span, 1)
}

/** Where a state of slot 0 lies at `state`: where it is read, or 0 if there was nothing before. */
export function stateBefore(spans: usize, span: i32, state: usize, slotBytes: usize): usize {
  const slot = at(spans, span, 2)
  return slot < 0 ? 0 : state + <usize>slot * slotBytes
}

/** Where it is written after one of its rows. */
export function stateAfter(spans: usize, span: i32, row: i32, state: usize, slotBytes: usize): usize {
  return state + <usize>slotAfter(spans, span, row) * slotBytes
}

/** Whether the row behind this one does not write to the same place. */
export function leavesState(spans: usize, span: i32, row: i32): bool {
  return row + 1 === rowsOf(spans, span) || slotAfter(spans, span, row) !== slotAfter(spans, span, row + 1)
}

function slotAfter(spans: usize, span: i32, row: i32): i32 {
  return load<i32>(spans + ((<usize>(at(spans, span, 3) + row)) << 2))
}
