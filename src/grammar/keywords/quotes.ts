import { complement } from '../automata/sets.js'
import { whole } from '../automata/stretches.js'
import { refusal } from '../schema/context.js'
import { STRING } from '../schema/part.js'
import type { Quotes } from '../schema/quotes.js'
import { placed } from '../schema/texts.js'
import { only } from './choices.js'
import { keyword } from './keyword.js'
import { truth } from './shapes.js'

const NAME = 'x-quote'
/** Of more states the contrary would be a table too large. */
const MOST_DENIED = 10_000
const NO_TEXTS = `'${NAME}' needs texts to quote from, and there are none here.`

/** Ours: a string is a stretch of the texts that the schema is compiled with. */
const quote = keyword<Quotes>({
  name: NAME,
  shape: truth,
  kinds: STRING,
  read({ context, site, schema }) {
    const value = schema[NAME]
    if (value === undefined || value === false) return undefined
    if (value !== true) throw refusal(site, NAME, `'${NAME}' must be true or false.`)
    if (context.quotes === undefined) context.refuse(refusal(site, NAME, NO_TEXTS))
    return context.quotes
  },
  assert({ part, site }, { automaton }) {
    part.texts.push(automaton)
    part.places.set(NAME, site)
  },
  deny({ context, site, choices }, { automaton }) {
    const denied = whole(automaton)
    if (denied.states > MOST_DENIED) {
      context.refuse(refusal(site, NAME, `'${NAME}' is not supported inside a negation if the texts are long.`))
      return
    }
    const inverse = placed(context, site, NAME, () => complement(denied))
    if (inverse === undefined) return
    choices.push(
      only(STRING, (part) => {
        part.texts.push(inverse)
        part.places.set(NAME, site)
      }),
    )
  },
  holds: ({ context }, quotes, value) => quotes.has(value as string, context.fuel),
})

export const QUOTES = [quote]
