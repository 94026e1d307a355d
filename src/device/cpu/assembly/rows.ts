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
 * What eight rows come to with a token. Products leave it in `sums`, side by side and without a branch: then V8's revectorizer,
 * where it is on, makes operations of 256 bits of theirs.
 */
export function putEight(sums: usize, y: usize, rows: i32, add: bool): void {
  putRows(y, v128.load(sums), rows, add)
  putRows(y + 16, v128.load(sums, 16), rows - 4, add)
}

/** Sums of eight rows with four tokens. Of a class, as only its functions can stand wherever they are used (`exp.ts`). */
// biome-ignore lint/complexity/noStaticOnlyClass: see above
export class Quad {
  // @ts-expect-error: decorator
  @inline
  static store(sums: usize, s0: v128, s1: v128, s2: v128, s3: v128, s4: v128, s5: v128, s6: v128, s7: v128): void {
    v128.store(sums, s0)
    v128.store(sums, s1, 16)
    v128.store(sums, s2, 32)
    v128.store(sums, s3, 48)
    v128.store(sums, s4, 64)
    v128.store(sums, s5, 80)
    v128.store(sums, s6, 96)
    v128.store(sums, s7, 112)
  }
}

/** The same with four tokens, which lie `yStride` bytes apart. */
export function putQuad(sums: usize, y: usize, yStride: usize, rows: i32, add: bool): void {
  for (const end = sums + 128; sums < end; sums += 32) {
    putEight(sums, y, rows, add)
    y += yStride
  }
}
