/** Four results; only the first `rows` of them where the matrix ends here. */
export function putRows(y: usize, value: v128, rows: i32, add: bool): void {
  if (rows >= 4) {
    v128.store(y, add ? f32x4.add(v128.load(y), value) : value)
    return
  }
  for (let row = 0; row < rows; row++) {
    const one = f32x4.extract_lane(value, 0)
    store<f32>(y, add ? load<f32>(y) + one : one)
    y += 4
    value = v128.shuffle<i32>(value, value, 1, 2, 3, 0)
  }
}

/** Eight sums of one token. */
export function putEight(y: usize, low: v128, high: v128, rows: i32, add: bool): void {
  putRows(y, low, rows, add)
  putRows(y + 16, high, rows - 4, add)
}

/** Those of four tokens, `yStride` bytes apart. */
export function putTokens(
  y: usize,
  yStride: usize,
  s0: v128,
  s1: v128,
  s2: v128,
  s3: v128,
  s4: v128,
  s5: v128,
  s6: v128,
  s7: v128,
  rows: i32,
  add: bool,
): void {
  putEight(y, s0, s1, rows, add)
  y += yStride
  putEight(y, s2, s3, rows, add)
  y += yStride
  putEight(y, s4, s5, rows, add)
  y += yStride
  putEight(y, s6, s7, rows, add)
}
