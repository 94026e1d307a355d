/** The parts one after the other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let length = 0
  for (const part of parts) length += part.length
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** How many leading items two lists share, at most `limit`. */
export function commonLength(a: ArrayLike<number>, b: ArrayLike<number>, limit = Math.min(a.length, b.length)): number {
  const end = Math.min(limit, a.length, b.length)
  let i = 0
  while (i < end && a[i] === b[i]) i++
  return i
}

export function base64(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

const encoder = new TextEncoder()
/** Node, Deno and Bun count without making the bytes. */
const counted = (globalThis as { Buffer?: { byteLength(text: string): number } }).Buffer?.byteLength

/** Of a text in UTF-8. */
export const byteLength = (text: string): number => (counted ? counted(text) : encoder.encode(text).length)
