import { afterEach, describe, expect, it, vi } from 'vitest'
import type { GrammarSource, TokenConstraint } from '../contract/index.js'
import { atOnce, type Slices } from '../platform/index.js'
import { differenceInSlices } from './automata/sets.js'
import { prepare } from './automaton/entry.js'
import { Machine, MOST_STATES } from './automaton/machine.js'
import { choiceOf, followedBy, type Rule, repeated } from './automaton/rule.js'
import { compile } from './compile.js'
import { Constraints } from './constraints/constraints.js'
import { Fuel, MASK_WORK, SLICE_WORK, StepWork } from './fuel.js'
import { beginInSlices } from './grammar.js'
import { textCheck } from './judge.js'
import { compileRegex, compileRegexInSlices } from './regex/regex.js'
import { Builder } from './rules/builder.js'
import { withoutLeftRecursion } from './rules/left-recursion.js'
import { measure, namesIn } from './rules/measure.js'
import { fixed, optionsInSlices } from './rules/options.js'
import { Context } from './schema/context.js'
import { Document, type Schema } from './schema/document.js'
import { Values } from './schema/values.js'
import type { SchemaError } from './schema-error.js'
import { Vocabulary } from './structured.js'
import { pick, randomness, smallWords, vocabularyOf } from './testing.test-helper.js'
import { fromSource, fromSourceInSlices, gbnf } from './texts.js'
import { layoutOf } from './values/format.js'

const many = (count: number, line: (i: number) => string, join = '\n') =>
  Array.from({ length: count }, (_, i) => line(i)).join(join)

/** How often it pauses until it is compiled, or refused. */
function pausesOf(source: GrammarSource): number {
  let pauses = 0
  const work = fromSourceInSlices(source)
  try {
    while (!work.next().done) pauses++
  } catch {}
  return pauses
}

const READINGS = '((a|b)*(b|c)*){1,40}(x|y){0,200}'

describe('what takes long to compile pauses', () => {
  it.each<[string, GrammarSource]>([
    ['a regular expression', { regex: `^${READINGS}$` }],
    ['one of a choice', { choice: [{ regex: `a${READINGS}` }, 'b'] }],
    ['one of a schema', { schema: { properties: { a: { pattern: `^e${READINGS}$` } } } }],
    ['one of names in a schema', { schema: { patternProperties: { [`^f${READINGS}$`]: {} } } }],
    [
      'a schema of many properties',
      {
        schema: {
          properties: Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`p${i}`, { type: 'null' }])),
        },
      },
    ],
    ['one within a JSON string', { quoted: { regex: `b${READINGS}` } }],
    ['one of Lark', { lark: `start: /${READINGS}z/` }],
    ['one of a structural tag', { structuralTag: { format: { type: 'regex', pattern: `c${READINGS}` } } }],
    [
      'many rules of llama.cpp',
      { gbnf: `root ::= ${many(4000, (i) => `r${i}`, ' | ')}\n${many(4000, (i) => `r${i} ::= "${i}" [a-z]`)}` },
    ],
    ['one rule of many options', { gbnf: `root ::= ${many(9000, (i) => `"${i}" [a-z]`, ' | ')}` }],
    [
      'rules that begin with each other',
      { gbnf: `root ::= r0\n${many(900, (i) => `r${i} ::= r${(i + 1) % 900} "${i}" | "x"`)}` },
    ],
    ['a long comment', { gbnf: `${'#\n'.repeat(50_000)}root ::= "a"` }],
    ['a long text', { gbnf: `root ::= "${'a'.repeat(50_000)}"` }],
    ['a long list of characters', { gbnf: `root ::= [${'abcde'.repeat(10_000)}]` }],
    [
      'many rules of Lark',
      { lark: `start: ${many(3000, (i) => `r${i}`, ' | ')}\n${many(3000, (i) => `r${i}: "${i}" /[a-z]/`)}` },
    ],
    [
      'many tags',
      {
        structuralTag: {
          triggers: ['<'],
          structures: Array.from({ length: 2000 }, (_, i) => ({
            begin: `<t${i}>`,
            schema: { type: 'boolean' },
            end: '</t>',
          })),
        },
      },
    ],
  ])('%s', (_, source) => {
    expect(pausesOf(source)).toBeGreaterThan(10)
  })

  it('texts to choose from', () => {
    const fuel = new Fuel(500_000)
    const choice = Array.from({ length: 20_000 }, (_, i) => `${i}${'-'.repeat(40)}`)
    let [before, most] = [fuel.spent, 0]
    const work = new Builder(fuel).rule({ choice })
    for (let done = false; !done; before = fuel.spent) {
      done = work.next().done === true
      most = Math.max(most, fuel.spent - before)
    }
    expect(fuel.spent).toBeGreaterThan(200_000)
    expect(most).toBeLessThan(30_000)
  })

  it.each([
    READINGS,
    '(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])(?=.*[^a-z0-9]).{8,64}',
    '(a?){60}a{60}',
    '([a-z]{1,9}-?){1,30}[0-9]',
    `(?<=${READINGS})z`,
    `a|(?=b(?<!(?<=${READINGS})c))`,
  ])('and no longer than steps between one pause and the next: %s', (source) => {
    const fuel = new Fuel(500_000)
    let [before, most] = [fuel.spent, 0]
    const work = compileRegexInSlices(source, fuel, { whole: true })
    try {
      for (let done = false; !done; before = fuel.spent) {
        done = work.next().done === true
        most = Math.max(most, fuel.spent - before)
      }
    } catch {}
    expect(most).toBeLessThan(30_000)
  })
})

describe('formats', () => {
  const names = ['uri', 'iri-reference', 'regex', 'ipvanynetwork', 'name-email']
  it.each([...names.map((format) => ({ format })), { not: { format: 'name-email' } }])(
    'are built in few steps between one pause and the next, the first time: %j',
    async (said) => {
      // As in a process that has just begun: what was built before is kept.
      vi.resetModules()
      const { fromSourceInSlices } = await import('./texts.js')
      const { Fuel } = await import('./fuel.js')
      let [steps, most, pauses] = [0, 0, 0]
      const { spend } = Fuel.prototype
      const spy = vi.spyOn(Fuel.prototype, 'spend').mockImplementation(function (this: Fuel, by) {
        steps += by
        spend.call(this, by)
      })
      const work = fromSourceInSlices({ schema: { properties: { a: { type: 'string', ...said } } } })
      for (let done = false; !done; pauses++) {
        const before = steps
        done = work.next().done === true
        most = Math.max(most, steps - before)
      }
      spy.mockRestore()
      expect(pauses).toBeGreaterThan(10)
      expect(most).toBeLessThan(30_000)
    },
  )
})

describe('alternatives of numbers', () => {
  const multiples = (...steps: number[]) => steps.map((multipleOf) => ({ type: 'integer', multipleOf }))

  it.each<[string, Schema]>([
    ['of which one is to hold', { oneOf: multiples(7, 11) }],
    ['of which not one is to hold', { type: 'integer', minimum: 5, not: { oneOf: multiples(7, 11) } }],
    [
      'within each other',
      { oneOf: [{ properties: { a: { oneOf: multiples(13, 17) } }, required: ['a'] }, { const: 1 }] },
    ],
    ['of many remainders, which are refused', { oneOf: multiples(1009, 997) }],
    ['that are all to hold', { allOf: multiples(1019, 991) }],
    ['that are listed', { enum: Array.from({ length: 5000 }, (_, i) => i), type: 'integer', minimum: 7 }],
  ])('are held against each other in few steps between one pause and the next: %s', (_, schema) => {
    const fuel = new Fuel()
    const context = new Context(new Document(schema), fuel, layoutOf('compact'), undefined)
    const most = mostSteps(new Values(context).root(), fuel)
    expect(fuel.spent).toBeGreaterThan(20_000)
    expect(most).toBeLessThan(10_000)
  })

  it('which are texts that have none in common, too', () => {
    const [a, b] = ['^([0-9]{1,9}-){400}a$', '^([0-9]{1,8}-){400}b$'].map((source) => compileRegex(source))
    const fuel = new Fuel()
    expect(mostSteps(differenceInSlices(a!, b!, fuel), fuel)).toBeLessThan(5000)
    expect(fuel.spent).toBeGreaterThan(10_000)
  })

  /** The most that is spent between two pauses, or before a refusal. */
  function mostSteps(work: Slices<unknown>, fuel: Fuel): number {
    let [before, most] = [0, 0]
    const pause = () => {
      most = Math.max(most, fuel.spent - before)
      before = fuel.spent
    }
    try {
      while (!work.next().done) pause()
    } catch {}
    pause()
    return most
  }
})

describe('rules that begin with each other', () => {
  it('are rewritten in few steps between one pause and the next', () => {
    const names = many(400, (i) => `r${i} ::= r${(i + 1) % 400} "${i}" | "x"`)
    const fuel = new Fuel(500_000)
    let [before, most] = [0, 0]
    const pause = () => {
      most = Math.max(most, fuel.spent - before)
      before = fuel.spent
    }
    const work = rewritten(`root ::= r0\n${names}`, fuel)
    try {
      while (!work.next().done) pause()
    } catch {}
    // Of the last piece too, which may have been refused.
    pause()
    expect(fuel.spent).toBeGreaterThan(300_000)
    expect(most).toBeLessThan(20_000)
  })

  function* rewritten(text: string, fuel: Fuel) {
    const rule = yield* new Builder(fuel).rule({ gbnf: text })
    yield* measure(rule, fuel)
    yield* withoutLeftRecursion(yield* namesIn(rule), fuel)
  }
})

describe('properties by the thousand', () => {
  const COUNT = 30_000

  /** The most that is looked at between two pauses of what is said of so many properties, all together. */
  function mostLooks(schemaOf: (properties: Record<string, unknown>) => unknown): number {
    let looks = 0
    const one = {
      get type() {
        looks++
        return 'boolean'
      },
    }
    // Each an object of its own, as JSON has them.
    const each = () => Object.defineProperties({}, Object.getOwnPropertyDescriptors(one))
    const properties = Object.fromEntries(Array.from({ length: COUNT }, (_, i) => [`p${i}`, each()]))
    let [before, most] = [0, 0]
    const work = fromSourceInSlices({ schema: schemaOf(properties) })
    for (let done = false; !done; before = looks) {
      done = work.next().done === true
      most = Math.max(most, looks - before)
    }
    expect(looks).toBeGreaterThan(COUNT)
    return most
  }

  it.each<[string, (properties: Record<string, unknown>) => unknown]>([
    ['some', (properties) => ({ properties })],
    ['all', (properties) => ({ type: 'object', properties, required: Object.keys(properties) })],
    ['closed', (properties) => ({ properties, additionalProperties: false })],
    ['further in', (properties) => ({ properties: { a: { allOf: [{ anyOf: [{ properties }, { type: 'null' }] }] } } })],
  ])('are read and demanded a few thousand at a time: %s', (_, schemaOf) => {
    expect(mostLooks(schemaOf)).toBeLessThan(COUNT / 2)
  })

  it('are refused by what is wrong in them, and only where they are asked for', () => {
    const properties = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`p${i}`, { type: 'null' }]))
    const wrong = { ...properties, last: 1 }
    const placeOf = (schema: unknown) => {
      try {
        compile(schema)
      } catch (error) {
        return (error as SchemaError).path
      }
      return undefined
    }
    expect(placeOf({ properties: wrong })).toEqual(['properties', 'last'])
    expect(placeOf({ properties: { ...properties, last: { $ref: '#/no' } } })).toEqual(['properties', 'last'])
    const beside = { $schema: 'http://json-schema.org/draft-07/schema#', definitions: { a: { type: 'null' } } }
    expect(compile({ ...beside, $ref: '#/definitions/a', properties: wrong }).shortest).toBe('null'.length)
  })
})

describe('rules by the thousand', () => {
  const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))
  const vocabulary = new Vocabulary([...bytes, new Uint8Array()], { eos: [256] })

  it('are found by what they begin with: a mask looks at none of the others', () => {
    const rules = many(9000, (i) => `r${i} ::= "${i}" [a-z]`)
    const place = gbnf(`root ::= "x" (${many(9000, (i) => `r${i}`, ' | ')} | .)\n${rules}`).start(vocabulary)
    const allowed = () => {
      const mask = new Uint32Array(9)
      place.mask(mask)
      return bytes.flatMap((_, byte) => ((mask[byte >> 5]! >> (byte & 31)) & 1 ? [byte] : []))
    }
    expect(allowed()).toEqual([0x78])
    place.accept(0x78)
    // Whatever a character may begin with.
    expect(allowed().length).toBeGreaterThan(150)
    place.accept(0x37)
    const letters = Array.from({ length: 26 }, (_, i) => 0x61 + i)
    expect(allowed()).toEqual([...Array.from({ length: 10 }, (_, i) => 0x30 + i), ...letters])
  })

  it('of words alone are put in order a part at a time, and each is found', () => {
    const words = Array.from({ length: 20_000 }, (_, i) => `${(i * 7919) % 20_011}`)
    const sorted: number[] = []
    const { sort } = Array.prototype
    const spy = vi.spyOn(Array.prototype, 'sort').mockImplementation(function (this: unknown[], by) {
      sorted.push(this.length)
      return sort.call(this, by)
    })
    let pauses = 0
    const work = optionsInSlices([...words, ...words].map(fixed))
    while (!work.next().done) pauses++
    spy.mockRestore()
    expect(Math.max(...sorted)).toBeLessThan(words.length / 4)
    // As many again to look at them all, and to merge them two by two.
    expect(pauses).toBeGreaterThan(2 * sorted.length)
    const grammar = gbnf(`root ::= ${[...words, ...words].map((word) => `"${word}"`).join(' | ')}`)
    for (const word of ['0', '1', '20010', '777', '7777', ...words.slice(0, 50), '20011', '00']) {
      const place = grammar.start(vocabulary)
      const led = Array.from(word).every((letter) => place.accept(letter.charCodeAt(0)))
      expect([word, led && place.accept(256)]).toEqual([word, words.includes(word)])
    }
  })

  it.each<[string, (options: Rule) => Rule]>([
    ['at once', (options) => options],
    ['behind what need not come', (options) => followedBy(repeated(fixed('x'), 0, 1), options)],
    ['before something', (options) => followedBy(options, fixed('x'))],
    ['again and again', (options) => repeated(options, 0, Infinity)],
  ])('are looked at a few hundred at a time before any text: %s', (_, within) => {
    let looks = 0
    const options = Array.from({ length: 20_000 }, (_, i): Rule => {
      const option = followedBy(repeated(fixed('y'), 1, Infinity), fixed(String(i)))
      const { length } = option
      return Object.defineProperty(option, 'length', {
        get() {
          looks++
          return length
        },
      })
    })
    const rule = within(choiceOf(options))
    looks = 0
    const work = prepare(rule, new Fuel(500_000))
    let [before, most] = [0, 0]
    for (let done = false; !done; before = looks) {
      done = work.next().done === true
      most = Math.max(most, looks - before)
    }
    expect(looks).toBeGreaterThanOrEqual(options.length)
    expect(most).toBeLessThan(options.length / 20)
  })

  it('pay for the same characters once', () => {
    const steps = (of: (i: number) => string) => gbnf(`root ::= ${many(300, of, ' ')}`).steps
    expect(steps(() => '[a-z]')).toBeLessThan(steps((i) => `[${String.fromCharCode(0x100 + i)}]`) - 300)
  })
})

describe('a mask of rules that are read in many ways', () => {
  const parts = ['a', 'b', 'c', 'ab', 'bca']
  const texts = [...new Set(parts.flatMap((a) => parts.flatMap((b) => parts.flatMap((c) => [a, a + b, a + b + c]))))]
  const words = texts.map((text) => new TextEncoder().encode(text))
  const vocabulary = new Vocabulary([...words, undefined], { eos: words.length })
  const ROUNDS = 'root ::= r\nr ::= ((r | [a-c]) root+)*'
  const NAMES = `root ::= r0\n${many(60, (i) => `r${i} ::= [a-c]+ r${(i * 7 + 1) % 60}? r${(i * 3 + 2) % 60}? | [a-c]`)}`

  afterEach(() => void vi.restoreAllMocks())

  /** The masks along a text; `pause` is called in each pause of one, of which none is made where it is absent. */
  function along(source: string, pause?: (at: TokenConstraint) => void): Uint32Array[] {
    const constraint = gbnf(source).start(vocabulary)
    return ['a', 'ab', 'c', 'bca', 'b', 'abc', 'a', 'bcaa'].map((text) => {
      const mask = new Uint32Array(vocabulary.words)
      if (!pause) constraint.mask(mask)
      else for (const work = constraint.maskInSlices!(mask); !work.next().done; ) pause(constraint)
      expect(constraint.accept(texts.indexOf(text))).toBe(true)
      return mask
    })
  }

  it.each([ROUNDS, NAMES])('is the same whatever others make in its pauses: %s', (source) => {
    const others = [compile({ enum: ['abc', 'b'] }), gbnf(NAMES)]
    const pause = vi.fn((constraint: TokenConstraint) => {
      const further = constraint.clone()
      further.accept(texts.indexOf('a'))
      for (const at of [...others.map((grammar) => grammar.start(vocabulary)), further]) {
        at.mask(new Uint32Array(vocabulary.words))
      }
    })
    expect(along(source, pause)).toEqual(along(source))
    expect(pause.mock.calls.length).toBeGreaterThan(2)
  })

  it.each<GrammarSource>([
    { gbnf: 'root ::= "a" root "a" | "b" root "b" | [cd\\x22 ]* "a"' },
    { gbnf: 'root ::= .* "a" | [^b]{2,5}' },
    { schema: { properties: { ab: { type: 'string' }, n: {} }, additionalProperties: { type: 'null' } } },
    { schema: { type: 'object', minProperties: 2, propertyNames: { pattern: '^[abn]{1,3}$' } } },
    { schema: { type: 'array', uniqueItems: true, minItems: 2, items: { enum: ['ab', 'ac', 1, 12] } } },
    { schema: { anyOf: [{ enum: ['ab', 'ac', 'name'] }, { type: 'number' }, { type: 'string', maxLength: 4 }] } },
  ])('is the same wherever it pauses, whatever is forgotten then: %j', (source) => {
    const small = vocabularyOf(smallWords())
    const random = randomness(7)
    const [known, forgetful] = [fromSource(source).start(small), fromSource(source).start(small)]
    let pauses = 0
    for (let length = 0; length < 12 && !known.done; length++) {
      if (length % 3 === 2) for (const each of [known, forgetful]) each.closing(known.shortest + 1)
      const [whole, inSlices] = [new Uint32Array(small.words), new Uint32Array(small.words)]
      known.mask(whole)
      const tires = vi.spyOn(StepWork.prototype, 'tires').mockReturnValue(true)
      for (const work = forgetful.maskInSlices!(inSlices); !work.next().done; pauses++) {
        if (pauses % 40 !== 0) continue
        const kept = vi.spyOn(Machine.prototype, 'kept', 'get').mockReturnValue(MOST_STATES + 1)
        const further = forgetful.clone()
        for (let token = pauses % 7; token < small.size; token += 7) if (further.accept(token)) break
        further.mask(new Uint32Array(small.words))
        kept.mockRestore()
      }
      tires.mockRestore()
      expect(inSlices).toEqual(whole)
      const token = pick(whole, small.size, random)
      expect([known.accept(token), forgetful.accept(token)]).toEqual([true, true])
    }
    expect(pauses).toBeGreaterThan(12)
  })

  it('takes little between two pauses, and all its slices no more than one mask may', () => {
    let [left, most] = [0, 0]
    const { allow, spend } = StepWork.prototype
    let slice = 0
    vi.spyOn(StepWork.prototype, 'spend').mockImplementation(function (this: StepWork, steps) {
      left -= steps
      slice += steps
      most = Math.max(most, slice)
      spend.call(this, steps)
    })
    const allowed = vi.spyOn(StepWork.prototype, 'allow').mockImplementation(function (this: StepWork, steps) {
      if (slice > SLICE_WORK) expect(steps).toBe(left)
      left = steps
      slice = 0
      allow.call(this, steps)
    })
    along(ROUNDS, () => expect(slice).toBeGreaterThan(0))
    expect(allowed).toHaveBeenCalledWith(MASK_WORK)
    // A step is not left in its midst.
    expect(most).toBeLessThan(3 * SLICE_WORK)
  })

  it('pauses too while it counts the tokens that the ways to the end take', () => {
    const mirrored = 'root ::= [a-c] | "a" root "a" | "b" root "b" | "c" root "c"'
    const words = ['a', 'b', 'c']
    for (let from = 0; words.length < 5000; from++) for (const letter of 'abc') words.push(words[from]! + letter)
    const bytes = words.map((word) => new TextEncoder().encode(word))
    const large = new Vocabulary([...bytes, undefined], { eos: words.length })
    const constraint = gbnf(mirrored).start(large)
    let [since, most, sum] = [0, 0, 0]
    const { tire } = StepWork.prototype
    vi.spyOn(StepWork.prototype, 'tire').mockImplementation(function (this: StepWork, steps) {
      since += steps
      sum += steps
      most = Math.max(most, since)
      tire.call(this, steps)
    })
    expect(constraint.closing(6)).toBe(true)
    const mask = new Uint32Array(large.words)
    for (const work = constraint.maskInSlices!(mask); !work.next().done; ) since = 0
    expect(sum).toBeGreaterThan(3 * SLICE_WORK)
    expect(most).toBeLessThan(2 * SLICE_WORK)
  })

  it('that has few readings is made at once', () => {
    const pause = vi.fn()
    along('root ::= [a-c] root | "a" | (root "b")+', pause)
    expect(pause).not.toHaveBeenCalled()
  })
})

it('a document of many keys is looked at in slices, as the place behind each is new', () => {
  const grammar = compile({ type: 'object', additionalProperties: { type: 'integer' } })
  const keys = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`key number ${i}`, i]))
  let [before, most] = [grammar.states, 0]
  const work = grammar.acceptsInSlices(JSON.stringify(keys))
  let next = work.next()
  for (; ; next = work.next()) {
    most = Math.max(most, grammar.states - before)
    before = grammar.states
    if (next.done) break
  }
  expect(next.value).toBe(true)
  expect(grammar.states).toBeGreaterThan(10 * most)
})

it('what hundreds of alternatives begin with is made in slices, and is then known', () => {
  const one = (i: number) => {
    const properties = { kind: { const: `kind ${i}` }, value: { type: 'integer' }, [`p${i}`]: { type: 'string' } }
    return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
  }
  const grammar = compile({ anyOf: Array.from({ length: 200 }, (_, i) => one(i)) })
  const tokens = Array.from({ length: 95 }, (_, i) => Uint8Array.of(32 + i))
  const letters = new Vocabulary([...tokens, undefined], { eos: tokens.length })
  const forced = '{"kind":"kind '
  let [before, most] = [grammar.states, 0]
  for (const work = beginInSlices(grammar, letters); ; ) {
    const { done } = work.next()
    most = Math.max(most, grammar.states - before)
    before = grammar.states
    if (done) break
  }
  expect(most).toBeLessThan(forced.length / 2)
  const constraint = grammar.start(letters)
  expect(new TextDecoder().decode(constraint.forced())).toBe(forced)
  expect(grammar.states).toBe(before)
})

describe('a text that is read in many ways', () => {
  const NAMES = `root ::= r0\n${many(60, (i) => `r${i} ::= [a-c]+ r${(i * 7 + 1) % 60}? r${(i * 3 + 2) % 60}? | [a-c]`)}`
  const text = 'abcabbacabcc'.repeat(3)

  it('is looked at in slices', () => {
    const grammar = gbnf(NAMES)
    let [slice, most, pauses] = [0, 0, 0]
    const { spend } = StepWork.prototype
    const spy = vi.spyOn(StepWork.prototype, 'spend').mockImplementation(function (this: StepWork, steps) {
      slice += steps
      most = Math.max(most, slice)
      spend.call(this, steps)
    })
    const work = textCheck(grammar).faultInSlices(text)
    let fault: string | undefined
    for (let done = false; !done; slice = 0, pauses++) {
      const next = work.next()
      done = next.done === true
      fault = next.value as string | undefined
    }
    spy.mockRestore()
    expect(fault).toBeUndefined()
    expect(pauses).toBeGreaterThan(5)
    expect(most).toBeLessThan(3 * SLICE_WORK)
    expect(atOnce(textCheck(grammar).faultInSlices(`${text}x`))).toBeTypeOf('string')
  })

  it('keeps nobody waiting who asks for what is wrong in it', async () => {
    const places = { format: 'grammar', tools: [] }
    const asked = {
      output: { type: 'grammar', source: { gbnf: NAMES } },
      tools: [],
      toolChoice: 'none',
      places,
    } as const
    const told = async (text: string) =>
      atOnce(new Constraints().of(asked)).faultOf({ text, toolCalls: [], cut: false })
    expect(await told(text)).toBeUndefined()
    expect(await told(`${text}x`)).toBeTypeOf('string')
    const many = atOnce(new Constraints().of(asked)).faultOf({ text, toolCalls: [], cut: false })
    expect(many).toBeInstanceOf(Promise)
    const few = atOnce(new Constraints().of(asked)).faultOf({ text: 'a', toolCalls: [], cut: false })
    expect(few).toBeUndefined()
  })
})
