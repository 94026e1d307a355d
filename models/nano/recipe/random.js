/** One seeded source of chance (mulberry32). */
let state = 1
export const rng = {
  seed(n) {
    state = n >>> 0
  },
  float() {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  },
  int(low, high) {
    return low + Math.floor(this.float() * (high - low + 1))
  },
}

export function hash(text) {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return (h ^ (h >>> 15)) >>> 0
}
