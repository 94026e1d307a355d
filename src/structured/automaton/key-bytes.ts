import { toBytes } from '../schema/format.js'

/** The spelling of a key inside its quotes, the closing one included. */
export function keyBytes(key: string): string {
  return toBytes(JSON.stringify(key)).slice(1)
}

const decoder = new TextDecoder()

export function fromKeyBytes(bytes: string): string {
  const utf8 = Uint8Array.from(bytes, (letter) => letter.charCodeAt(0))
  return JSON.parse(`"${decoder.decode(utf8)}`) as string
}
