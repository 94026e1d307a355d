import { refusal } from '../schema/context.js'
import { readString } from '../schema/keywords.js'
import { ANY, type Atom } from '../schema/part.js'
import { obstacle } from './choices.js'
import { type Keyword, keyword } from './keyword.js'
import { reference as address } from './shapes.js'

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

/** Where only one place can be meant a plain reference; where it depends on the way that led there it is refused. */
function dynamic(name: string, since: number): Keyword {
  return keyword<Atom | 'dynamic'>({
    name,
    shape: address,
    since,
    kinds: ANY,
    read({ context, site, schema }) {
      if (schema[name] === undefined) return undefined
      const reference = readString(site, name, schema[name])
      return context.followDynamic(site, reference, name) ?? 'dynamic'
    },
    assert({ branch, context, site }, target) {
      if (target !== 'dynamic') branch.next(target)
      else context.refuse(refusal(site, name, `'${name}' is not supported where several places bear that name.`))
    },
    deny({ context, choices, site }, target) {
      choices.push(target === 'dynamic' ? obstacle(ANY, site, name) : { atoms: [context.not(target)] })
    },
    holds: ({ test }, target, value) => target === 'dynamic' || test(target, value),
  })
}

export const REFERENCES = [reference, dynamic('$dynamicRef', 2020), dynamic('$recursiveRef', 2019)]
