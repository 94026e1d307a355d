import { refusal } from '../schema/context.js'
import { readString } from '../schema/keywords.js'
import { ANY, type Atom } from '../schema/part.js'
import { obstacle } from './choices.js'
import { type Keyword, keyword } from './keyword.js'
import { reference as address, anything } from './shapes.js'

const reference = keyword<Atom>({
  name: '$ref',
  shape: address,
  kinds: ANY,
  read({ context, site, schema }) {
    if (schema.$ref === undefined) return undefined
    return context.follow(site, readString(site, '$ref', schema.$ref))
  },
  assert: ({ branch }, target) => branch.next(target),
  deny({ context, choices }, target) {
    choices.push({ atoms: [context.not(target)] })
  },
  holds: ({ test }, target, value) => test(target, value),
})

/** Restricts values, and no part of this compiler enforces it. */
function unsupported(name: string): Keyword {
  return keyword<true>({
    name,
    shape: anything,
    kinds: ANY,
    read: ({ schema }) => schema[name] !== undefined || undefined,
    assert: ({ context, site }) => context.refuse(refusal(site, name, `'${name}' is not supported.`)),
    deny({ choices, site }) {
      choices.push(obstacle(ANY, site, name))
    },
    holds: () => true,
  })
}

export const REFERENCES = [reference, unsupported('$dynamicRef'), unsupported('$recursiveRef')]
