/** The spans of a pass, as `batch.ts` writes them: first row, rows, and the slots of their states before and after. */

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

export function stateAfter(spans: usize, span: i32, state: usize, slotBytes: usize): usize {
  return state + <usize>at(spans, span, 3) * slotBytes
}
