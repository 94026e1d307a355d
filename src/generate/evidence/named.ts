/** Which tokens a model is asked about by name before it draws: all that may come, or those that matter most. */

import { MOST_AMONG } from '../../contract/index.js'
import { getOrMake } from '../../platform/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'

const QUOTE = 0x22
const NULL = new TextEncoder().encode('null')

/** Of a vocabulary: tokens that may end a string, and those that may begin null. */
interface Notable {
  readonly quotes: readonly number[]
  readonly nulls: readonly number[]
}

const known = new WeakMap<Tokenizer, Notable>()

function notableOf(tokenizer: Tokenizer): Notable {
  return getOrMake(known, tokenizer, () => {
    const all = Array.from({ length: tokenizer.size }, (_, token) => token)
    const quotes = all.filter((token) => tokenizer.bytes(token)[0] === QUOTE)
    const nulls = all.filter((token) => {
      const bytes = tokenizer.bytes(token)
      return bytes.length > 0 && NULL.every((byte, i) => i >= bytes.length || bytes[i] === byte)
    })
    return { quotes, nulls }
  })
}

export interface Named {
  readonly tokens: readonly number[]
  /** Nothing else may come. */
  readonly all: boolean
}

/** `place`: the part of a document that is being written. */
export function namedOf(mask: Uint32Array, tokenizer: Tokenizer, place: 'string' | 'value' | 'other'): Named {
  const few = tokensOf(mask)
  if (few) return { tokens: few, all: true }
  if (place === 'other') return { tokens: [], all: false }
  const { quotes, nulls } = notableOf(tokenizer)
  const allowed = (place === 'string' ? quotes : nulls).filter(
    (token) => ((mask[token >>> 5] ?? 0) >>> (token & 31)) & 1,
  )
  return { tokens: allowed.slice(0, MOST_AMONG), all: false }
}

/** The tokens that a mask allows, where they are no more than can be asked for. */
function tokensOf(mask: Uint32Array): number[] | undefined {
  const found: number[] = []
  for (let word = 0; word < mask.length; word++) {
    for (let bits = mask[word]!; bits !== 0; bits &= bits - 1) {
      if (found.length === MOST_AMONG) return undefined
      found.push(word * 32 + 31 - Math.clz32(bits & -bits))
    }
  }
  return found
}
