import { readCount } from '../schema/keywords.js'
import type { SchemaPart } from '../schema/part.js'
import { only } from './choices.js'
import { type Keyword, keyword } from './keyword.js'
import { number } from './shapes.js'

type Least = 'minLength' | 'minItems' | 'minProperties'
type Most = 'maxLength' | 'maxItems' | 'maxProperties'

/** A keyword and a field of a part, of one name: how many there must be. */
export function lowerLimit(name: Least, opposite: Most, kinds: number, count: (value: never) => number): Keyword {
  return keyword<number>({
    name,
    shape: number,
    kinds,
    read: ({ site, schema }) => (schema[name] === undefined ? undefined : readCount(site, name, schema[name])),
    assert({ part, site }, limit) {
      if (limit > part[name]) part.places.set(name, site)
      part[name] = Math.max(part[name], limit)
    },
    deny({ choices }, limit) {
      choices.push(only(kinds, (part: SchemaPart) => (part[opposite] = Math.min(part[opposite], limit - 1))))
    },
    holds: (_, limit, value) => count(value as never) >= limit,
  })
}

/** How many there may be. */
export function upperLimit(name: Most, opposite: Least, kinds: number, count: (value: never) => number): Keyword {
  return keyword<number>({
    name,
    shape: number,
    kinds,
    read: ({ site, schema }) => (schema[name] === undefined ? undefined : readCount(site, name, schema[name])),
    assert({ part }, limit) {
      part[name] = Math.min(part[name], limit)
    },
    deny({ choices }, limit) {
      choices.push(only(kinds, (part: SchemaPart) => (part[opposite] = Math.max(part[opposite], limit + 1))))
    },
    holds: (_, limit, value) => count(value as never) <= limit,
  })
}
