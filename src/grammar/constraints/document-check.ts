import type { QuoteSource } from '../../contract/index.js'
import { judge } from '../judge.js'
import type { Formats, Grammar } from '../structured.js'

/** Looks at a generated document before it is called finished. */
export interface DocumentCheck {
  /** Whether the document must satisfy the schema even when the engine ran out of tokens. */
  readonly strict: boolean
  /** What is wrong with the document; undefined for one that is right. */
  faultOf(text: string): string | undefined
}

/**
 * The second judge beside the grammar: whoever generated the text, a document that does not satisfy its schema is not
 * sent. It looks at the parsed value alone and knows nothing of states, masks and tokens. What the two share is the
 * reading of keywords and the automata of patterns and formats; numbers it compares as decimals.
 *
 * It is not a validator from elsewhere, because none is exact enough to overrule the grammar: ajv divides doubles for
 * `multipleOf`, finds properties in prototypes, reads draft 7's siblings of `$ref`, overflows the stack on schemas that
 * refer back to themselves, takes time without bound on alternatives that recur, and needs `new Function`. It is the
 * oracle of the tests instead, beside the labels of real instances (`npm run check:schemas`).
 */
export function documentCheck(
  schema: unknown,
  grammar: Grammar,
  strict: boolean,
  formats?: Formats,
  quote?: QuoteSource,
): DocumentCheck {
  return {
    strict,
    faultOf(text) {
      let value: unknown
      try {
        value = JSON.parse(text)
      } catch (error) {
        return (error as SyntaxError).message
      }
      // Deeper or larger than the judge can follow, it may still be what the grammar wrote.
      const right = !strict || (judge(schema, value, formats, quote) ?? grammar.accepts(text))
      return right ? undefined : 'it does not satisfy the schema'
    },
  }
}

/** For the arguments of a tool that takes a text: however their JSON is written, the text is one of the grammar's. */
export function inputCheck(grammar: Grammar): DocumentCheck {
  return {
    strict: true,
    faultOf(text) {
      try {
        const { input } = JSON.parse(text) as { input?: unknown }
        if (typeof input === 'string' && grammar.accepts(JSON.stringify({ input }))) return undefined
      } catch {}
      return 'its input is no text of its grammar'
    },
  }
}

/** For what is no document: whoever generated it, a text that the grammar does not hold is not sent. */
export function textCheck(grammar: Grammar): DocumentCheck {
  return {
    strict: true,
    faultOf: (text) => (grammar.accepts(text) ? undefined : 'it is no text of the grammar'),
  }
}
