import { isRecord, type Slices } from '../../platform/index.js'
import type { Choice } from '../schema/branch.js'
import { refusal } from '../schema/context.js'
import { typeName } from '../schema/document.js'
import { readList } from '../schema/keywords.js'
import { ANY, type Atom } from '../schema/part.js'
import { type Denying, type Keyword, keyword, type Stand } from './keyword.js'
import * as shapes from './shapes.js'

function list(name: string, rest: Omit<Keyword<readonly Atom[]>, 'name' | 'shape' | 'kinds' | 'read'>): Keyword {
  return keyword({
    name,
    shape: shapes.schemas,
    kinds: ANY,
    read({ context, site, schema }: Stand) {
      if (schema[name] === undefined) return undefined
      return readList(site, name, schema[name]).map((child, i) => context.child(site, child, name, i))
    },
    ...rest,
  })
}

const allOf = list('allOf', {
  assert: ({ branch }, atoms) => branch.next(...atoms),
  deny({ context, choices }, atoms) {
    for (const atom of atoms) choices.push({ atoms: [context.not(atom)] })
  },
  holds: ({ test }, atoms, value) => atoms.every((atom) => test(atom, value)),
})

const anyOf = list('anyOf', {
  assert: ({ branch }, atoms) => branch.later(atoms.map((atom) => ({ atoms: [atom] }))),
  deny({ context, choices }, atoms) {
    choices.push({ atoms: atoms.map((atom) => context.not(atom)) })
  },
  holds: ({ test }, atoms, value) => atoms.some((atom) => test(atom, value)),
})

const oneOf = list('oneOf', {
  *assert({ branch, expander }, atoms) {
    const { options, apart } = yield* expander.exactlyOne(atoms)
    branch.laterOr(options, apart)
  },
  *deny(at, atoms) {
    at.choices.push(...(yield* notExactlyOne(at, atoms)))
  },
  holds: ({ test }, atoms, value) => atoms.filter((atom) => test(atom, value)).length === 1,
})

/** None of them, or two at once. */
function* notExactlyOne({ context, expander }: Denying, atoms: readonly Atom[]): Slices<Choice[]> {
  const choices: Choice[] = [{ atoms: atoms.map((atom) => context.not(atom)) }]
  for (const [i, a] of atoms.entries()) {
    for (const b of atoms.slice(i + 1)) if (yield* expander.overlap(a, b)) choices.push({ atoms: [a, b] })
  }
  return choices
}

const not = keyword<Atom>({
  name: 'not',
  shape: shapes.schema,
  ordinary: true,
  kinds: ANY,
  read: ({ context, site, schema }) => (schema.not === undefined ? undefined : context.child(site, schema.not, 'not')),
  assert: ({ branch, context }, atom) => branch.next(context.not(atom)),
  deny({ choices }, atom) {
    choices.push({ atoms: [atom] })
  },
  holds: ({ test }, atom, value) => !test(atom, value),
})

interface Condition {
  readonly test: Atom
  readonly yes: Atom | undefined
  readonly no: Atom | undefined
}

const condition = keyword<Condition>({
  name: 'if',
  shape: shapes.schema,
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
  with: { then: shapes.schema, else: shapes.schema },
  since: 7,
  ordinary: true,
  kinds: ANY,
  read({ context, site, schema }) {
    const [test, yes, no] = ['if', 'then', 'else'].map((name) => {
      const part = schema[name]
      if (part === undefined) return undefined
      if (typeof part === 'boolean' || isRecord(part)) return context.child(site, part, name)
      throw refusal(site, name, `'${name}' must be a schema, not ${typeName(part)}.`)
    })
    return test === undefined || (yes ?? no) === undefined ? undefined : { test, yes, no }
  },
  assert({ branch, context }, { test, yes, no }) {
    branch.later([
      { atoms: yes === undefined ? [test] : [test, yes] },
      { atoms: no === undefined ? [context.not(test)] : [context.not(test), no] },
    ])
  },
  deny({ context, choices }, { test, yes, no }) {
    if (yes !== undefined) choices.push({ atoms: [test, context.not(yes)] })
    if (no !== undefined) choices.push({ atoms: [context.not(test), context.not(no)] })
  },
  holds(at, { test, yes, no }, value) {
    const then = at.test(test, value) ? yes : no
    return then === undefined || at.test(then, value)
  },
})

/** In the order in which they are put before what is still to be read. */
export const COMBINING = [not, allOf]
export const CHOOSING = [anyOf, oneOf, condition]
