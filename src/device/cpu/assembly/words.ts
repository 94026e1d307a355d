/** Words of lists. */

export function wordAt(p: usize, i: i32): i32 {
  return load<i32>(p + ((<usize>i) << 2))
}

export function putWord(p: usize, i: i32, value: i32): void {
  store<i32>(p + ((<usize>i) << 2), value)
}

export function floatAt(p: usize, i: i32): f32 {
  return load<f32>(p + ((<usize>i) << 2))
}
