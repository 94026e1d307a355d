/** Leaves only the tokens whose bits are set: the logits of all others become -Infinity, and can never be drawn. */
export function maskLogits(logits: { [token: number]: number; readonly length: number }, mask: Uint32Array): void {
  for (let word = 0; word * 32 < logits.length; word++) {
    const bits = mask[word] ?? 0
    if (bits === -1 >>> 0) continue
    const end = Math.min(logits.length, word * 32 + 32)
    for (let token = word * 32; token < end; token++) {
      if (((bits >>> (token & 31)) & 1) === 0) logits[token] = Number.NEGATIVE_INFINITY
    }
  }
}
