import { refusal } from '../schema/context.js'
import { readBounds, readNumber } from '../schema/keywords.js'
import { isMultiple } from '../schema/multiple.js'
import { NUMBER, type NumberBounds } from '../schema/part.js'
import { canDeny } from '../schema/unlike.js'
import { obstacle, only } from './choices.js'
import { keyword } from './keyword.js'
import * as shapes from './shapes.js'

/** All four together: in draft 4 an `exclusive...` says how to read another. */
const bounds = keyword({
  name: 'minimum',
  shape: shapes.bound,
  with: { exclusiveMinimum: shapes.bound, maximum: shapes.bound, exclusiveMaximum: shapes.bound },
  kinds: NUMBER,
  read: ({ site, schema }) => readBounds(site, schema),
  assert({ part: { number: n } }, { minimum, exclusiveMinimum, maximum, exclusiveMaximum }) {
    n.minimum = Math.max(n.minimum, minimum)
    n.exclusiveMinimum = Math.max(n.exclusiveMinimum, exclusiveMinimum)
    n.maximum = Math.min(n.maximum, maximum)
    n.exclusiveMaximum = Math.min(n.exclusiveMaximum, exclusiveMaximum)
  },
  deny({ choices }, { minimum, exclusiveMinimum, maximum, exclusiveMaximum }) {
    const beyond = (limit: number, edit: (n: NumberBounds) => void) => {
      if (Number.isFinite(limit)) choices.push(only(NUMBER, (part) => edit(part.number)))
    }
    beyond(minimum, (n) => (n.exclusiveMaximum = Math.min(n.exclusiveMaximum, minimum)))
    beyond(exclusiveMinimum, (n) => (n.maximum = Math.min(n.maximum, exclusiveMinimum)))
    beyond(maximum, (n) => (n.exclusiveMinimum = Math.max(n.exclusiveMinimum, maximum)))
    beyond(exclusiveMaximum, (n) => (n.minimum = Math.max(n.minimum, exclusiveMaximum)))
  },
  holds(_, { minimum, exclusiveMinimum, maximum, exclusiveMaximum }, value) {
    const n = value as number
    return n >= minimum && n > exclusiveMinimum && n <= maximum && n < exclusiveMaximum
  },
})

const multipleOf = keyword<number>({
  name: 'multipleOf',
  shape: shapes.number,
  kinds: NUMBER,
  read({ site, schema }) {
    if (schema.multipleOf === undefined) return undefined
    const step = readNumber(site, 'multipleOf', schema.multipleOf)
    if (step <= 0) throw refusal(site, 'multipleOf', "'multipleOf' must be greater than 0.")
    return step
  },
  assert({ part, site }, step) {
    const { multiples } = part.number
    if (!multiples.includes(step)) multiples.push(step)
    part.places.set('multipleOf', site)
  },
  deny({ choices, site }, step) {
    choices.push(
      canDeny(step) ? only(NUMBER, (part) => part.number.denied.push(step)) : obstacle(NUMBER, site, 'multipleOf'),
    )
  },
  holds: (_, step, value) => isMultiple(value as number, step),
})

export const NUMBERS = [bounds, multipleOf]
