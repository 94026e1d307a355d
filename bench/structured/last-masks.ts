/** Masks of the last tokens of a budget, in which only what can still be finished may come. */
import { compile, type Vocabulary } from '../../src/grammar/structured.js'
import { now, quantile } from './measure.js'

const TEXTS: Readonly<Record<string, object>> = {
  'https?://': { pattern: 'https?://' },
  '^https?://': { pattern: '^https?://' },
  'format: email': { format: 'email' },
  'format: uri': { format: 'uri' },
  'two lookaheads': { pattern: '^(?=.*\\d)(?=.*[a-z]).{8,}$' },
  'a negative lookahead': { pattern: '^(?!.*admin)[\\w ]+$' },
  'up to 40 letters': { pattern: '^[\\p{L} ]{3,40}$' },
}
/** Tokens beyond the shortest document. */
const BUDGETS = [1, 2, 3, 5, 8, 13, 21]
const DOCUMENTS = 6

export interface LastMasks {
  readonly name: string
  readonly masks: number
  readonly medianUs: number
  readonly slowUs: number
  readonly worstUs: number
}

/** The documents are drawn from the masks: any token but one that ends its text, as long as there is one. */
export function measureLastMasks(vocabulary: Vocabulary): LastMasks[] {
  return Object.entries(TEXTS).map(([name, text]) => {
    const object = { type: 'object', properties: { u: { type: 'string', ...text }, n: { type: 'integer' } } }
    const grammar = compile({ ...object, required: ['u', 'n'], additionalProperties: false })
    const times: number[] = []
    for (let document = 0; document < DOCUMENTS; document++) {
      for (const more of BUDGETS) {
        const constraint = grammar.start(vocabulary)
        const mask = new Uint32Array(vocabulary.words)
        let budget = constraint.shortest + more
        for (let i = 0; budget > 0 && !constraint.done; i++) {
          const started = now()
          constraint.closing(budget--)
          constraint.mask(mask)
          times.push(now() - started)
          if (!constraint.accept(chosen(mask, vocabulary, document * 31 + more * 7 + i))) break
        }
      }
    }
    return {
      name,
      masks: times.length,
      medianUs: quantile(times, 0.5),
      slowUs: quantile(times, 0.99),
      worstUs: Math.max(...times),
    }
  })
}

/** One of the mask's tokens, of those without a closing quote where there are some. */
function chosen(mask: Uint32Array, vocabulary: Vocabulary, seed: number): number {
  const tokens: number[] = []
  mask.forEach((word, i) => {
    for (let bits = word; bits !== 0; bits &= bits - 1) tokens.push(32 * i + 31 - Math.clz32(bits & -bits))
  })
  const open = tokens.filter((token) => !vocabulary.bytes(token).includes(0x22))
  const from = open.length > 0 ? open : tokens
  return from[(seed * 7919) % from.length]!
}
