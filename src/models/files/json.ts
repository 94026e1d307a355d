import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { broken, damaged } from './failure.js'

export function parseJson(place: string, name: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch (cause) {
    throw damaged(place, `${name} is not JSON.`, cause)
  }
  throw broken(place, `${name} is not a JSON object.`)
}

/** `JSON.parse` takes the last of keys that are equal: of what names tensors that would hide one. */
export function assertKeysOnce(place: string, name: string, text: string): void {
  const open: Set<string>[] = []
  let last = ''
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}:]/g)) {
    if (part === '{') open.push(new Set())
    else if (part === '}') open.pop()
    else if (part !== ':') last = part
    else {
      const keys = open.at(-1)
      if (keys?.has(last)) throw damaged(place, `${name} has the key ${last.slice(0, 100)} twice.`)
      keys?.add(last)
    }
  }
}

/** Identifies weights by the texts that describe them. */
export function digestOf(...texts: readonly string[]): string {
  return bytesToHex(sha256(utf8ToBytes(texts.join('\n')))).slice(0, 16)
}
