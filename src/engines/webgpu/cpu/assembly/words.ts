/** Arguments of an operation. */

export function word(args: usize, index: usize): i32 {
  return load<i32>(args + (index << 2))
}

export function pointer(args: usize, index: usize): usize {
  return <usize>load<u32>(args + (index << 2))
}

export function float(args: usize, index: usize): f32 {
  return load<f32>(args + (index << 2))
}
