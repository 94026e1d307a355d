import { complement } from '../automata/sets.js'
import type { TextAutomaton } from '../automata/types.js'
import { IMPLIED, isSpelledOut, NUMBER_FORMATS, wholeFormat } from '../formats/formats.js'
import { readString } from '../schema/keywords.js'
import { NUMBER, STRING } from '../schema/part.js'
import { formatOf, matches, patternAutomaton, placed } from '../schema/texts.js'
import { only } from './choices.js'
import { type Denying, keyword } from './keyword.js'
import { lowerLimit, upperLimit } from './limits.js'
import { text } from './shapes.js'

/** Texts outside a language; undefined where it is noted that they cannot be told. */
function without({ context, site, choices }: Denying, name: string, automaton: TextAutomaton | undefined): void {
  const inverse = automaton && placed(context, site, name, () => complement(automaton))
  if (inverse !== undefined) choices.push(only(STRING, (part) => part.texts.push(inverse)))
  else if (context.ignored !== undefined) choices.push(only(STRING, () => {}))
}

/** `automaton` absent: noted as not enforced. */
const pattern = keyword<{ automaton: TextAutomaton | undefined }>({
  name: 'pattern',
  shape: text,
  kinds: STRING,
  read({ context, site, schema }) {
    if (schema.pattern === undefined) return undefined
    const { format } = schema
    const implies = typeof format === 'string' && context.ownFormat(format) === undefined
    const source = readString(site, 'pattern', schema.pattern)
    if (implies && IMPLIED.get(source) === format) return undefined
    return { automaton: patternAutomaton(context, site, 'pattern', source) }
  },
  assert({ part, site }, { automaton }) {
    if (automaton !== undefined) part.texts.push(automaton)
    part.places.set('pattern', site)
  },
  deny: (at, { automaton }) => without(at, 'pattern', automaton),
  holds: (_, { automaton }, value) => automaton === undefined || matches(automaton, value as string),
})

/** Of texts a language, of numbers a range of integers; neither where it restricts nothing or is noted as not enforced. */
const format = keyword<{
  automaton: TextAutomaton | undefined
  /** Where not all of it is written. */
  whole?: TextAutomaton | undefined
  range: { minimum: number; maximum: number } | undefined
}>({
  name: 'format',
  shape: text,
  kinds: STRING | NUMBER,
  read({ context, site, schema }) {
    if (schema.format === undefined) return undefined
    const name = readString(site, 'format', schema.format)
    const own = context.ownFormat(name)
    if (own === true || (own === undefined && isSpelledOut(name, schema))) return undefined
    if (own !== undefined) {
      return { automaton: patternAutomaton(context, site, 'format', readString(site, 'format', own)), range: undefined }
    }
    const range = NUMBER_FORMATS.get(name)
    return { automaton: formatOf(context, site, name), whole: wholeFormat(name), range }
  },
  assert({ part }, { automaton, range }) {
    if (automaton !== undefined) part.texts.push(automaton)
    if (range === undefined) return
    const n = part.number
    n.integer = true
    n.minimum = Math.max(n.minimum, range.minimum)
    n.maximum = Math.min(n.maximum, range.maximum)
  },
  deny(at, { automaton, whole, range }) {
    if (range === undefined) return without(at, 'format', whole ?? automaton)
    const { minimum, maximum } = range
    at.choices.push(
      only(NUMBER, ({ number }) => number.denied.push(1)),
      only(NUMBER, ({ number }) => (number.exclusiveMaximum = Math.min(number.exclusiveMaximum, minimum))),
      only(NUMBER, ({ number }) => (number.exclusiveMinimum = Math.max(number.exclusiveMinimum, maximum))),
    )
  },
  holds(_, { automaton, whole = automaton, range }, value) {
    if (typeof value === 'string') return whole === undefined || matches(whole, value)
    const n = value as number
    return range === undefined || (Number.isInteger(n) && n >= range.minimum && n <= range.maximum)
  },
})

/** The number of Unicode code points, which is how JSON Schema measures a string. */
function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

export const STRINGS = [
  lowerLimit('minLength', 'maxLength', STRING, codePoints),
  upperLimit('maxLength', 'minLength', STRING, codePoints),
  pattern,
  format,
]
