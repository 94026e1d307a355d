/** The number of characters if the bytes are whole characters that stand for themselves in a JSON string, else 0. */
export function plainLength(bytes: Uint8Array): number {
  let characters = 0
  for (let i = 0; i < bytes.length; characters++) {
    const size = characterSize(bytes, i)
    if (size === 0) return 0
    i += size
  }
  return characters
}

/** How many bytes the character at `i` takes; 0 if it is not whole, not well-formed or must be escaped. */
function characterSize(bytes: Uint8Array, i: number): number {
  const lead = bytes[i]!
  if (lead < 0x80) return lead < 0x20 || lead === 0x22 || lead === 0x5c ? 0 : 1
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2
  if (lead < 0xc2 || lead > 0xf4 || i + size > bytes.length) return 0
  for (let k = 1; k < size; k++) if ((bytes[i + k]! & 0xc0) !== 0x80) return 0
  const second = bytes[i + 1]!
  const overlong = (lead === 0xe0 && second < 0xa0) || (lead === 0xf0 && second < 0x90)
  const beyond = (lead === 0xed && second > 0x9f) || (lead === 0xf4 && second > 0x8f)
  return overlong || beyond ? 0 : size
}
