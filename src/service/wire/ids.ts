import { base64 } from '../../platform/index.js'
import { badRequest } from './fields.js'

/** What ids begin with, by what they are of. */
type IdPrefix =
  | 'chatcmpl-'
  | 'cmpl-'
  | 'embd-'
  | 'rerank-'
  | 'classify-'
  | 'pool-'
  | 'score-'
  | 'dec-'
  | 'ext-'
  | 'req_'
  | 'call_'
  | 'conv_'
  | 'resp_'

/** Of random ids, 128 bits each, for many at once, since to ask for chance costs more than to have it. */
const drawn = new Uint8Array(2048)
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
let used = drawn.length

/** An id in one of OpenAI's forms. */
export function newId(prefix: IdPrefix | ''): string {
  if (used === drawn.length) {
    crypto.getRandomValues(drawn)
    used = 0
  }
  let id: string = prefix
  for (const end = used + 16; used < end; used++) id += HEX[drawn[used]!]
  return id
}

export const toolCallId = (): string => newId('call_').slice(0, 'call_'.length + 24)

/** Items whose ids begin alike: a request may bring twenty thousand, and chance takes half the time of reading them. */
const ALIKE = 4096
let beginning = ''
let left = 0

export function itemId(prefix: string): string {
  if (left === 0) {
    beginning = newId('').slice(0, 24)
    left = ALIKE
  }
  return `${prefix}_${beginning}${(--left).toString(16).padStart(8, '0')}`
}

/** When something was made, as every reply says it: seconds since 1970. */
export const seconds = (): number => Math.floor(Date.now() / 1000)

const MARK = 'local-v1:'

/**
 * What the interface calls encrypted: text that a client carries back and forth without reading it. There is no server
 * here to hide it from, so it is only packed.
 */
export function sealed(text: string): string {
  return base64(new TextEncoder().encode(MARK + text))
}

export function openSealed(content: string, param: string): string {
  try {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0))
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (text.startsWith(MARK)) return text.slice(MARK.length)
  } catch {
    // Not even base64 of text: as foreign as what another service packed.
  }
  throw badRequest(
    param,
    `Invalid '${param}': it was made by another service and cannot be read here. Leave it out.`,
    'invalid_value',
  )
}
