/** What the calls of all clients have in common: what they ask, and what must come of it. */
import { z } from 'zod'

export const INSTRUCTIONS = 'Extract the order.'
export const TEXT = 'Please send 12 desk lamps, it is urgent.'
export const Order = z.object({ product: z.string(), quantity: z.number().int(), urgent: z.boolean() })
export const MESSAGES = [
  { role: 'system', content: INSTRUCTIONS },
  { role: 'user', content: TEXT },
]
export const NANO = 'local-v1/nano'
export const AGENT = 'scripted/agent'
export const THINKER = 'scripted/thinker'
export const CODER = 'scripted/coder'

/** The document, if it is one. */
export const anOrder = (value) => Order.strict().parse(value)

export function same(value, expected) {
  if (JSON.stringify(value) === JSON.stringify(expected)) return value
  throw new Error(`Expected ${JSON.stringify(expected)}, but got ${JSON.stringify(value)}.`)
}

/** Asked again, and several times at once: to the last bit the same. */
export async function sameAgain(ask, times = 5) {
  const first = await ask()
  same(await ask(), first)
  for (const each of await Promise.all(Array.from({ length: times }, ask))) same(each, first)
  return `the same ${times + 2} times`
}

export const HELLO = 'Hello there, you.'
export const TOLD = 'I was told: sunny in Bern'
export const weather = ({ city }) => `sunny in ${city}`
export const WEATHER = {
  name: 'weather',
  description: 'Says how the weather is.',
  city: z.object({ city: z.string() }),
}

/** A text is all that so small a model can be asked for; which one is its own matter. */
export function aText(value) {
  if (typeof value === 'string' && value.length > 0) return 'a text'
  throw new Error(`Expected a text, but got ${JSON.stringify(value)}.`)
}

/** Vectors of one length, of which the first two are nearest. */
export function vectors([a, b, c], dimensions = 26) {
  same(
    [a, b, c].map(({ length }) => length),
    [dimensions, dimensions, dimensions],
  )
  const near = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0)
  if (near(a, b) <= near(a, c)) throw new Error('The wrong two of three texts are near each other.')
  return `3 vectors of ${dimensions}`
}
export const TEXTS = ['a cat sat', 'a cat sat there', 'zzz']
