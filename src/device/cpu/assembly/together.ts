/** Queries that are attended together: how many, and how what is of each stands beside the others'. */

/** As many as N, where code is made for each number: u8 stands for one, u16 for two, u32 for three, u64 for four. */
export function countOf<N>(): usize {
  return sizeof<N>() === 8 ? 4 : sizeof<N>() === 4 ? 3 : sizeof<N>()
}

/** Four lanes, with room for the other queries' between them. */
export function putApart<N>(out: usize, value: v128): usize {
  const gap = countOf<N>() << 2
  v128.store32_lane(out, value, 0)
  v128.store32_lane(out + gap, value, 1)
  v128.store32_lane(out + gap * 2, value, 2)
  v128.store32_lane(out + gap * 3, value, 3)
  return out + gap * 4
}

/** Sixteen values. */
export function putLine(out: usize, s0: v128, s1: v128, s2: v128, s3: v128): void {
  v128.store(out, s0)
  v128.store(out, s1, 16)
  v128.store(out, s2, 32)
  v128.store(out, s3, 48)
}
