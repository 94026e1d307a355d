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

/**
 * What eight rows come to with four tokens, which lie `yStride` bytes apart. Products leave it in `sums`, side by side and
 * without a branch: then V8's revectorizer, where it is on, makes operations of 256 bits of theirs.
 */
export function putQuad(sums: usize, y: usize, yStride: usize, rows: i32, add: bool): void {
  for (const end = sums + 128; sums < end; sums += 32) {
    putRows(y, v128.load(sums), rows, add)
    putRows(y + 16, v128.load(sums, 16), rows - 4, add)
    y += yStride
  }
}
