/** From a token's name in tokenizer.json to the bytes that it stands for. */

/** How a vocabulary spells bytes: GPT-2's printable alphabet, or SentencePiece's text with `<0xNN>` as the fall-back. */
export type Spelling = 'byte-level' | 'sentencepiece' | 'plain'

const NONE = new Uint8Array(0)
const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/
const encoder = new TextEncoder()

/** Finds the spelling from the decoder (or, where that is absent, the pre-tokenizer) of a tokenizer.json. */
export function spellingOf(tokenizerJson: Readonly<Record<string, unknown>>): Spelling {
  const parts = [...typesIn(tokenizerJson.decoder), ...typesIn(tokenizerJson.pre_tokenizer)]
  if (parts.includes('ByteLevel')) return 'byte-level'
  if (parts.includes('ByteFallback') || parts.includes('Metaspace')) return 'sentencepiece'
  return JSON.stringify(tokenizerJson.decoder ?? null).includes('▁') ? 'sentencepiece' : 'plain'
}

/** The `type` of a component and of all components within it. */
export function typesIn(component: unknown): string[] {
  if (typeof component !== 'object' || component === null) return []
  const { type, ...rest } = component as Record<string, unknown>
  const nested = Object.values(rest).flatMap((value) => (Array.isArray(value) ? value.flatMap(typesIn) : []))
  return typeof type === 'string' ? [type, ...nested] : nested
}

/** The bytes of a token that is not an added one: those are written as they stand. */
export function bytesOfToken(name: string, spelling: Spelling): Uint8Array {
  if (spelling === 'byte-level') return bytesOfByteLevel(name)
  if (spelling === 'plain') return encoder.encode(name)
  const byte = BYTE_TOKEN.exec(name)
  if (byte) return Uint8Array.of(Number.parseInt(byte[1]!, 16))
  return encoder.encode(name.replaceAll('▁', ' '))
}

function bytesOfByteLevel(name: string): Uint8Array {
  const bytes = new Uint8Array(name.length)
  for (let i = 0; i < name.length; i++) {
    const byte = BYTE_OF_CODE[name.charCodeAt(i)] ?? -1
    // A token outside the alphabet was added as plain text by whoever made the tokenizer.
    if (byte < 0) return name.length === 0 ? NONE : encoder.encode(name)
    bytes[i] = byte
  }
  return bytes
}

/** GPT-2 writes a byte as itself where it prints, and as the next free code from 256 where it does not. */
const BYTE_OF_CODE: Int16Array = (() => {
  const table = new Int16Array(324).fill(-1)
  let next = 256
  for (let byte = 0; byte < 256; byte++) {
    const prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    table[prints ? byte : next++] = byte
  }
  return table
})()

/** GPT-2's names of the bytes. */
const CHARACTER_OF_BYTE: readonly string[] = (() => {
  const names: string[] = []
  BYTE_OF_CODE.forEach((byte, code) => {
    if (byte >= 0) names[byte] = String.fromCharCode(code)
  })
  return names
})()

/** A byte as a byte-level vocabulary spells it. */
export const byteName = (byte: number): string => CHARACTER_OF_BYTE[byte]!

const CODE_OF_BYTE = Uint16Array.from(CHARACTER_OF_BYTE, (name) => name.charCodeAt(0))
const utf16 = new TextDecoder('utf-16le')
/** The least bytes for which it is quicker to decode a whole array. */
const MANY = 64

/** A text as a byte-level vocabulary spells it. */
export function byteLevelName(text: string): string {
  const bytes = encoder.encode(text)
  if (bytes.length >= MANY) {
    const codes = new Uint16Array(bytes.length)
    for (let i = 0; i < bytes.length; i++) codes[i] = CODE_OF_BYTE[bytes[i]!]!
    return utf16.decode(codes)
  }
  let name = ''
  for (const byte of bytes) name += CHARACTER_OF_BYTE[byte]!
  return name
}
