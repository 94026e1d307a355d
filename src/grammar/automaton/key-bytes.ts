import { toBytes } from '../values/format.js'
import type { Bytes } from './frame.js'

/** The spelling of a key inside its quotes, the closing one included. */
export function keyBytes(key: string): string {
  return toBytes(JSON.stringify(key)).slice(1)
}

/** A mark at the beginning of a key is a part of it. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export function fromKeyBytes(bytes: string): string {
  const utf8 = Uint8Array.from(bytes, (letter) => letter.charCodeAt(0))
  return JSON.parse(`"${decoder.decode(utf8)}`) as string
}

/** The code point that a spelling holds at a place, escapes left aside: they are ASCII and read byte by byte. */
export function codePointAt(bytes: Bytes, at: number): number {
  const lead = bytes.charCodeAt(at)
  if (lead === 0x5c)
    return (JSON.parse(`"${bytes.slice(at, at + (bytes[at + 1] === 'u' ? 6 : 2))}"`) as string).charCodeAt(0)
  if (lead < 0x80) return lead === 0x22 ? -1 : lead
  const left = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
  let codePoint = lead & (0x3f >> left)
  for (let i = 1; i <= left; i++) codePoint = (codePoint << 6) | (bytes.charCodeAt(at + i) & 0x3f)
  return codePoint
}
