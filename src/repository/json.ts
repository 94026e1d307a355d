import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { isRecord, type JsonObject } from '../platform/json.js'
import { broken } from './failure.js'

export function parseJson(place: string, name: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch (cause) {
    throw broken(place, `${name} is not JSON.`, cause)
  }
  throw broken(place, `${name} is not a JSON object.`)
}

/** Identifies weights by the texts that describe them. */
export function digestOf(...texts: readonly string[]): string {
  return bytesToHex(sha256(utf8ToBytes(texts.join('\n')))).slice(0, 16)
}
