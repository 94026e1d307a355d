import type { Context } from '../schema/context.js'
import type { Site } from '../schema/document.js'
import { readString } from '../schema/keywords.js'
import { ANY, type Atom } from '../schema/part.js'
import { type Keyword, keyword } from './keyword.js'
import { reference as address } from './shapes.js'

/** A word that says: as that place does. `follow` finds it. */
function pointer(name: string, since: number, follow: (context: Context, at: Site, to: string) => Atom): Keyword {
  return keyword<Atom>({
    name,
    shape: address,
    since,
    kinds: ANY,
    read({ context, site, schema }) {
      const reference = schema[name]
      return reference === undefined ? undefined : follow(context, site, readString(site, name, reference))
    },
    assert: ({ branch }, target) => branch.next(target),
    deny({ context, choices }, target) {
      choices.push({ atoms: [context.not(target)] })
    },
    holds: ({ test }, target, value) => test(target, value),
  })
}

const dynamic = (name: string, since: number) =>
  pointer(name, since, (context, site, address) => context.followDynamic(site, address, name))

export const REFERENCES = [
  pointer('$ref', 0, (context, site, address) => context.follow(site, address)),
  dynamic('$dynamicRef', 2020),
  dynamic('$recursiveRef', 2019),
]
