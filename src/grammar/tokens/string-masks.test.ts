import { afterEach, describe, expect, it, vi } from 'vitest'
import { atOnce, getOrMake } from '../../platform/index.js'
import { CharacterFrame, type StringPlace } from '../automaton/characters.js'
import { type Cell, IN_STRING } from '../automaton/frame.js'
import { FrameTable } from '../automaton/frame-table.js'
import { Machine } from '../automaton/machine.js'
import { Fuel } from '../fuel.js'
import { ENTRY_BYTES } from '../kept.js'
import { Context } from '../schema/context.js'
import { Document } from '../schema/document.js'
import { Quotes } from '../schema/quotes.js'
import { Values } from '../schema/values.js'
import { pattern, smallWords, vocabularyOf, type Words } from '../testing.test-helper.js'
import { COMPACT } from '../values/format.js'
import { advance, startPlace } from '../walk.js'
import type { CloserList } from './closers.js'
import { TokenCosts } from './costs.js'
import { DeadEnds } from './dead-ends.js'
import { FewWalk } from './few-walk.js'
import { Learned } from './learned.js'
import { PlaceWalk } from './place-walk.js'
import { isAffordable, StringWalk } from './string-walk.js'
import { TextWalk } from './text-walk.js'
import type { Trie } from './trie.js'
import type { Vocabulary } from './vocabulary.js'

afterEach(() => void vi.restoreAllMocks())

const utf8 = new TextEncoder()
const LETTERS = [...'abcdefghijklmnopq']

/** With a token that goes on behind a quote in the text, and ends inside a character. */
function fewWords(): Words {
  const { tokens, ...rest } = smallWords()
  return { ...rest, tokens: [...tokens, Uint8Array.of(0x5c, QUOTE, 0x61, 0xc3)] }
}

/** Words of three letters besides, of which are more nodes than are followed one by one, and some long ones. */
function manyWords(): Words {
  const { tokens, ...rest } = smallWords()
  const words = LETTERS.flatMap((a) => LETTERS.flatMap((b) => LETTERS.map((c) => a + b + c)))
  const long = ['a'.repeat(30), 'ab'.repeat(14), '/'.repeat(26)]
  return { ...rest, tokens: [...tokens, ...[...words, ...long].map((text) => utf8.encode(text))] }
}

/** Inside a string, what stands behind it, and the fewest tokens to the end. */
interface Place {
  readonly frame: StringPlace
  readonly below: Cell
}

function machineOf(schema: object, texts?: readonly string[]): Machine {
  const quotes = texts && atOnce(Quotes.compiled({ texts }))
  const values = new Values(new Context(new Document(schema), new Fuel(), COMPACT, undefined, {}, quotes))
  return new Machine(new FrameTable(COMPACT).value(atOnce(values.root())))
}

function placeAfter(machine: Machine, bytes: Iterable<number>): Place {
  let place = startPlace(machine)
  for (const byte of bytes) place = advance(machine, place, byte)
  const { frame, below } = place.state.cells.find(({ frame }) => ((frame?.traits ?? 0) & IN_STRING) !== 0)!
  return { frame: frame as StringPlace, below: below! }
}

/** The definition: the tokens that end before the closing quote, by where they lead. */
function ends(vocabulary: Vocabulary, frame: StringPlace): Map<StringPlace, number[]> {
  const found = new Map<StringPlace, number[]>()
  for (let token = 0; token < vocabulary.size; token++) {
    const bytes = vocabulary.bytes(token)
    let at: StringPlace | null = bytes.length === 0 ? null : frame
    for (const byte of bytes) {
      if (at === null) break
      at = byte === QUOTE && at instanceof CharacterFrame ? null : (at.move(byte) as StringPlace | null)
    }
    if (at !== null) getOrMake(found, at, (): number[] => []).push(token)
  }
  return found
}

const QUOTE = 0x22
const E_ACUTE = utf8.encode('é')[0]!

/** A place asked about again and again, by what is spent more than the least. */
class PlaceMasks {
  readonly vocabulary: Vocabulary
  readonly place: Place
  readonly #costs: TokenCosts
  readonly #least: number
  readonly #ends: ReadonlyMap<StringPlace, readonly number[]>

  constructor(vocabulary: Vocabulary, place: Place) {
    this.vocabulary = vocabulary
    this.place = place
    this.#costs = new TokenCosts(vocabulary)
    this.#least = this.#costs.ofCell(place.below.push(place.frame))
    this.#ends = ends(vocabulary, place.frame)
  }

  #rest(more: number) {
    return { below: this.place.below, budget: this.#least + more, costs: this.#costs }
  }

  fill(more: number, anew = true, before = 0): Uint32Array {
    const mask = new Uint32Array(this.vocabulary.words).fill(before)
    Learned.of(this.vocabulary).strings.fill(mask, this.place.frame, this.#rest(more), anew)
    return mask
  }

  /** In hexadecimal what the mask has that it must not, and lacks. */
  wrong(more: number, anew = true, before = 0): string[] {
    const filled = this.fill(more, anew, before)
    const wanted = new Uint32Array(filled.length).fill(anew ? 0 : before)
    const rest = this.#rest(more)
    for (const [at, tokens] of this.#ends) {
      if (isAffordable(at, rest)) for (const token of tokens) wanted[token >> 5]! |= 1 << (token & 31)
    }
    return Array.from(filled, (word, i) => `${i}: ${((word ^ wanted[i]!) >>> 0).toString(16)}`).filter(
      (line) => !line.endsWith(' 0'),
    )
  }
}

const QUOTED = ['the name of the foo aaaaaaaa é']
const key = (text: string) => utf8.encode(`{"${text}`)
const inside = (text: string) => utf8.encode(`"${text}`)

/** A text with more to come behind it, in fewer tokens than bytes. */
const before = (text: object) => ({
  type: 'object',
  properties: { text, name: { const: 'a'.repeat(16) } },
  required: ['text', 'name'],
  additionalProperties: false,
})

const PLACES: readonly (readonly [object, readonly Uint8Array[]])[] = [
  [{ type: 'string' }, [inside(''), inside('a'), Uint8Array.of(QUOTE, E_ACUTE), inside('\\'), inside('\\u00')]],
  [{ type: 'string', maxLength: 3 }, [inside(''), inside('ab'), inside('abc')]],
  [{ type: 'string', minLength: 3, maxLength: 5 }, [inside(''), inside('ab'), inside('abcd')]],
  [pattern('^[a-z]*$'), [inside(''), inside('a')]],
  [pattern('^[a-z]*$', { maxLength: 6 }), [inside(''), inside('abc')]],
  [pattern('^[a-z]+[0-9]$'), [inside(''), inside('a')]],
  [pattern('^[a-zA-Z]+[0-9]$', { maxLength: 50 }), [inside(''), inside('a')]],
  [pattern('^([\\s\\S]{2})*$', { maxLength: 8 }), [inside(''), inside('a'), inside('abcdef')]],
  [pattern('^([\\s\\S]{2})*$', { maxLength: 9 }), [inside(''), inside('a')]],
  [pattern('^(..)*$'), [inside(''), inside('a')]],
  [pattern('foo'), [inside(''), inside('fo'), inside('foo')]],
  [pattern('^[^/]*foo[^/]*$'), [inside(''), inside('fo'), inside('foo')]],
  [pattern('^[^/]*foo[^/]*$', { maxLength: 60 }), [inside(''), inside('fo')]],
  [pattern('^(ab|cd)*é$'), [inside(''), inside('a'), Uint8Array.of(QUOTE, E_ACUTE)]],
  [pattern('^([a-zA-Z][a-zA-Z])*$'), [inside(''), inside('a')]],
  [pattern('^[!-~]{3,70}$'), [inside(''), inside('a')]],
  [pattern('^[aé]{2,}$', { maxLength: 27 }), [inside(''), inside('a'), inside('aé')]],
  [pattern('^[a-z"\\u0080-\\u00ff]*0$'), [inside(''), inside('a')]],
  [{ type: 'string', not: { pattern: 'ab|xyz' } }, [inside(''), inside('a')]],
  [{ type: 'string', 'x-quote': true }, [inside(''), inside('the n'), inside('the')]],
  [
    { type: 'object', properties: { ab: {}, name: {} }, minProperties: 2 },
    [key(''), key('a'), key('x":1,"'), key('x":1,"x')],
  ],
  [
    {
      patternProperties: { '^[a-z]+$': { type: 'null' } },
      additionalProperties: false,
      minProperties: 2,
      type: 'object',
    },
    [key(''), key('a'), key('x":null,"')],
  ],
  [{ type: 'object', propertyNames: { maxLength: 5 }, minProperties: 2 }, [key(''), key('a'), key('x":1,"')]],
  [before({ type: 'string' }), [key('text":"'), key('text":"a')]],
  [before(pattern('^[a-z]+[0-9]$')), [key('text":"'), key('text":"a')]],
]
const BUDGETS = [-1, 0, 1, 2, 3, 5, 7, 11, 19, Infinity]
/** With so many words each takes long. */
const FEW_BUDGETS: ReadonlySet<number> = new Set([-1, 1, Infinity])

describe('what may come in a string', () => {
  const orders: readonly (readonly [string, readonly number[]])[] = [
    ['the least first', BUDGETS],
    ['any at first', BUDGETS.toReversed()],
  ]
  it.each(orders)('is what each token gives, whatever was asked before and stands in the mask: %s', (_, budgets) => {
    const many = vocabularyOf(manyWords())
    for (const [schema, texts] of PLACES) {
      const machine = machineOf(schema, QUOTED)
      const few = vocabularyOf(fewWords())
      for (const text of texts) {
        for (const vocabulary of [few, many]) {
          const masks = new PlaceMasks(vocabulary, placeAfter(machine, text))
          for (const more of budgets) {
            if (vocabulary === many && !FEW_BUDGETS.has(more)) continue
            const what = [schema, String.fromCharCode(...text), more, vocabulary.size]
            expect([what, masks.wrong(more, true, 0xffffffff)]).toEqual([what, []])
            expect([what, masks.wrong(more, false, 0x10204081)]).toEqual([what, []])
          }
        }
      }
    }
  })

  it.each([
    ['of too many places', () => [vi.spyOn(TextWalk.prototype, 'all').mockReturnValue(false)]],
    ['whose tokens lead to too many', () => [vi.spyOn(TextWalk.prototype, 'from').mockReturnValue(undefined)]],
    ['of a key with too many', () => [vi.spyOn(PlaceWalk.prototype, 'from').mockReturnValue(undefined)]],
  ])('is found token by token in a text %s', (_, forbid) => {
    const spies = forbid()
    const vocabulary = vocabularyOf(smallWords())
    for (const [schema, texts] of PLACES) {
      const machine = machineOf(schema, QUOTED)
      for (const text of texts) {
        const masks = new PlaceMasks(vocabulary, placeAfter(machine, text))
        for (const more of [0, 1, 2, Infinity]) {
          const what = [schema, String.fromCharCode(...text), more]
          expect([what, masks.wrong(more)]).toEqual([what, []])
        }
      }
    }
    for (const spy of spies) expect(spy).toHaveBeenCalled()
  })
})

/** What is walked, by name, as it is asked for: in part where most was taken or left out unseen. */
function walked(vocabulary: Vocabulary, work: () => void): string[] {
  const { levels, escaped, inStrings } = Learned.of(vocabulary)
  const { whole, cut, quoted } = vocabulary
  const names = new Map([
    [whole, 'whole'],
    [cut, 'cut'],
    [quoted, 'quoted'],
    [escaped, 'escaped'],
    [levels.within, 'within'],
  ])
  const reported: string[] = []
  const watch = (of: { prototype: object }, method: string, name?: string) => {
    const methods = of.prototype as Record<string, (...args: unknown[]) => unknown>
    const own = methods[method]!
    vi.spyOn(methods, method).mockImplementation(function (this: unknown, ...args: unknown[]) {
      const before = inStrings.followed
      const came = own.apply(this, args)
      const nodes = (args[0] as Trie).bytes?.length ?? 0
      const part = name === undefined && 4 * (inStrings.followed - before) < nodes ? ' in part' : ''
      const end = came === false || (came === undefined && name !== 'few') ? ', given up' : ''
      reported.push(`${name ?? names.get(args[0] as Trie)}${part}${end}`)
      return came
    })
  }
  watch(StringWalk, 'run')
  watch(FewWalk, 'run', 'few')
  watch(PlaceWalk, 'from', 'places')
  watch(TextWalk, 'from', 'letters')
  watch(TextWalk, 'all', 'all letters')
  watch(DeadEnds, 'from', 'dead ends')
  work()
  vi.restoreAllMocks()
  return reported
}

type Step = readonly [Uint8Array, number, readonly string[]]
const NARROW = ['quoted', 'letters', 'escaped', 'cut']
const PAIRS = '^([\\s\\S]{2})*$'

describe('what is walked for a mask in a string', () => {
  it.each<[string, object, readonly Step[]]>([
    [
      'of any text nothing but what ends inside a character',
      { type: 'string' },
      [
        [inside(''), Infinity, []],
        [inside(''), 0, ['within']],
        [inside(''), 4, ['within in part']],
        // No way is longer: an escape, and the quote.
        [inside(''), 5, []],
      ],
    ],
    [
      'as little where a way that is no longer leaves enough for what stands behind it, in tokens',
      before({ type: 'string' }),
      [
        [key('text":"'), 5, ['within in part']],
        [key('text":"'), 6, []],
      ],
    ],
    [
      'as little up to a limit, and before the least length',
      { type: 'string', minLength: 3, maxLength: 5 },
      [
        [inside('ab'), Infinity, []],
        [inside('ab'), 1, ['within']],
        [inside('abcd'), 0, ['within']],
      ],
    ],
    [
      'of letters in any order those that do not pass, once',
      pattern('^[a-z]*$'),
      [
        [inside(''), -1, ['within']],
        [inside(''), 0, ['whole in part', 'cut', 'quoted']],
        [inside('a'), -1, ['within']],
        [inside('a'), 0, []],
        [inside('a'), Infinity, []],
      ],
    ],
    [
      'up to a limit as without one',
      pattern('^[a-z]*$', { maxLength: 6 }),
      [
        [inside(''), Infinity, ['whole in part', 'cut', 'quoted']],
        [inside('abc'), Infinity, []],
        [inside('abcdef'), Infinity, []],
      ],
    ],
    [
      'whatever the budget, where all places that were reached can be afforded',
      pattern('^[a-z]+[0-9]$'),
      [
        [inside(''), -1, ['quoted', 'whole in part', 'cut']],
        [inside(''), -1, ['whole in part', 'cut', 'quoted']],
        [inside(''), -1, []],
        [inside('a'), -1, ['quoted', 'whole in part', 'cut']],
        [inside('a'), -1, ['quoted', 'whole in part', 'cut']],
        [inside('a'), 0, ['whole in part', 'cut', 'quoted']],
      ],
    ],
    [
      'all letters along the text, where a place is asked about again',
      pattern('^[a-zA-Z]+[0-9]$', { maxLength: 50 }),
      [
        [inside('a'), -1, ['quoted', 'whole in part', 'cut']],
        [inside('a'), -1, ['quoted', 'letters', 'escaped in part', 'cut']],
        [inside('a'), 0, ['dead ends']],
        [inside('ab'), 5, []],
      ],
    ],
    [
      'dead ends, as long as they are few',
      pattern(PAIRS, { maxLength: 8 }),
      [
        [inside(''), Infinity, ['dead ends']],
        [inside(''), 0, NARROW],
        [inside(''), 9, []],
        [inside('abcdef'), 0, NARROW],
        [inside('abcdef'), Infinity, ['dead ends, given up', 'all letters', 'cut in part', 'quoted', 'escaped']],
        [inside('abcdef'), Infinity, []],
      ],
    ],
    ['nothing of pairs of any characters', pattern(PAIRS), [[inside(''), Infinity, []]]],
    [
      'all letters where there is much to look at before the few dead ends',
      pattern('^(..)*$'),
      [[inside(''), Infinity, ['dead ends, given up', 'all letters', 'cut in part', 'quoted', 'escaped']]],
    ],
    [
      'of a key all dead ends, however much there is to look at',
      { type: 'object', propertyNames: { pattern: '^(..)*$' } },
      [[key(''), Infinity, ['dead ends']]],
    ],
    [
      'whatever the budget, where letters lead to none that is too far',
      pattern('^[a-zA-Z]+[0-9]$', { maxLength: 50 }),
      [
        [inside(''), -1, ['quoted', 'letters', 'escaped in part', 'cut']],
        [inside(''), -1, ['dead ends']],
      ],
    ],
    [
      'nothing before a word that may come anywhere',
      pattern('foo'),
      [
        [inside(''), Infinity, []],
        [inside(''), 0, NARROW],
        [inside(''), 3, []],
        [inside('foo'), 0, ['within']],
      ],
    ],
    [
      'dead ends beside such a word',
      pattern('^[^/]*foo[^/]*$'),
      [
        [inside(''), -1, ['quoted', 'whole', 'cut']],
        [inside(''), -1, NARROW],
        [inside(''), 3, ['dead ends']],
        [inside('foo'), 0, ['dead ends', 'within']],
        [inside('foo'), 1, ['within']],
      ],
    ],
    [
      'what passes is left out where the budget suffices for all of it',
      pattern('^[!-~]{3,70}$'),
      [
        [inside(''), 0, ['quoted', 'whole in part', 'cut']],
        [inside('a'), -1, NARROW],
      ],
    ],
    [
      'letters along the text, where they lead from place to place',
      pattern('^([a-q][a-q])*$'),
      [
        [inside(''), Infinity, ['whole, given up', 'all letters', 'cut', 'quoted', 'escaped in part']],
        [inside('a'), -1, ['quoted', 'whole, given up', 'letters', 'escaped in part', 'cut']],
        [inside('a'), -1, ['quoted', 'letters', 'escaped in part', 'cut']],
      ],
    ],
    [
      'of letters that lead from place to place none that lead on from each',
      pattern('^(?:[a-f]|[g-z][a-z])*$'),
      [[inside(''), Infinity, ['whole in part', 'cut', 'quoted']]],
    ],
    [
      'of what is quoted its own few ways',
      { type: 'string', 'x-quote': true },
      [
        [inside(''), 0, ['few', 'few', 'few', 'few', 'few', 'few']],
        [inside(''), 0, ['few', 'few', 'few']],
        [inside(''), 5, []],
      ],
    ],
    [
      'in the midst of a character what goes on with it',
      { type: 'string' },
      [
        [Uint8Array.of(QUOTE, E_ACUTE), Infinity, ['whole in part', 'cut', 'quoted in part']],
        [Uint8Array.of(QUOTE, E_ACUTE), -1, ['quoted in part', 'whole in part', 'cut']],
        [Uint8Array.of(QUOTE, E_ACUTE), 2, []],
      ],
    ],
    [
      'of keys by the places that are reached',
      { type: 'object', properties: { ab: {}, name: {} }, minProperties: 2 },
      [
        [key(''), Infinity, []],
        [key('x":1,"'), 19, ['quoted', 'whole in part', 'cut']],
        [key('x":1,"x'), 0, ['quoted', 'places', 'cut']],
        [key('x":1,"x'), 9, []],
      ],
    ],
    [
      'of keys by a pattern once',
      {
        type: 'object',
        patternProperties: { '^[a-z]+$': { type: 'null' } },
        additionalProperties: false,
        minProperties: 2,
      },
      [
        [key(''), Infinity, ['whole in part', 'cut', 'quoted']],
        [key(''), Infinity, []],
        [key('a'), -1, ['quoted', 'places', 'cut']],
      ],
    ],
  ])('%s', (_, schema, steps) => {
    const machine = machineOf(schema, QUOTED)
    const vocabulary = vocabularyOf(manyWords())
    const found = steps.map(([text, more]): Step => {
      const masks = new PlaceMasks(vocabulary, placeAfter(machine, text))
      return [text, more, walked(vocabulary, () => void masks.fill(more))]
    })
    expect(found).toEqual(steps)
  })

  it.each<[string, object, Uint8Array]>([
    ['in any number', pattern('^[a-z]*$'), inside('')],
    ['up to a limit', pattern('^[a-z]*$', { minLength: 3, maxLength: 6 }), inside('')],
  ])('no word of letters that may come %s, however long it is', (_, schema, text) => {
    const followed = (words: Words) => {
      const vocabulary = vocabularyOf(words)
      const masks = new PlaceMasks(vocabulary, placeAfter(machineOf(schema), text))
      const { inStrings } = Learned.of(vocabulary)
      const before = inStrings.followed
      masks.fill(Infinity)
      return inStrings.followed - before
    }
    const words = manyWords()
    const isLong = (token: Uint8Array | undefined) => token !== undefined && token.length > 20 && token[0] === 0x61
    const tokens = words.tokens.map((token) => (isLong(token) ? undefined : token))
    expect(tokens).not.toEqual(words.tokens)
    expect(followed(words)).toBe(followed({ ...words, tokens }))
  })

  it('nothing where it was found out that the budget suffices, however many places were asked about since', () => {
    const [vocabulary, letters] = [vocabularyOf(smallWords()), 320]
    const machine = machineOf(pattern(`^[ab]{${letters}}$`))
    const costs = new TokenCosts(vocabulary)
    const { strings } = Learned.of(vocabulary)
    const fill = (written: number, budget: number) => {
      const { frame, below } = placeAfter(machine, inside('a'.repeat(written)))
      strings.fill(new Uint32Array(vocabulary.words), frame, { below, budget, costs }, true)
    }
    fill(0, Infinity)
    for (let written = 0; written < letters; written++) fill(written, 1)
    // After any token one letter fewer may come, at most, and the quote.
    expect(walked(vocabulary, () => fill(0, letters))).toEqual([])
    expect(walked(vocabulary, () => fill(0, letters - 1))).not.toEqual([])
  })

  it.each([
    ['of any text', { type: 'string' }, -1],
    ['of pairs', pattern(PAIRS, { maxLength: 30 }), 0],
  ])('asks once what places cost from which the same is left: %s', (_, schema, more) => {
    // Each leads to a place of its own, or is of a length of its own.
    const tokens = Array.from({ length: 30 }, (_, i) => utf8.encode('a'.repeat(i + 1)))
    const vocabulary = vocabularyOf({ tokens: [...tokens, inside(''), undefined], eos: [31], special: [] })
    const masks = new PlaceMasks(vocabulary, placeAfter(machineOf(schema), inside('')))
    const costs = vi.spyOn(TokenCosts.prototype, 'ofCell')
    masks.fill(more)
    expect(costs.mock.calls.length).toBeGreaterThan(0)
    expect(costs.mock.calls.length).toBeLessThan(tokens.length)
  })
})

describe('the tokens that close a string', () => {
  /** By the bytes up to the quote, with what stands behind it. */
  function closing(vocabulary: Vocabulary, frame: StringPlace): number[] {
    return Array.from({ length: vocabulary.size }, (_, token) => token).filter((token) => {
      const bytes = vocabulary.bytes(token)
      let at: StringPlace | null = frame
      for (const byte of bytes) {
        if (at === null) return false
        if (byte === QUOTE && at instanceof CharacterFrame) return at.closes
        at = at.move(byte) as StringPlace | null
      }
      return false
    })
  }
  const listed = ({ closers }: CloserList) =>
    closers
      .flatMap(({ trie, nodes, ends }) =>
        nodes.flatMap((node, i) => [...trie.tokens.subarray(trie.from[node]!, ends[i]!)]),
      )
      .sort((a, b) => a - b)

  it('are those with the quote at such a place, found once', () => {
    const vocabulary = vocabularyOf(smallWords())
    const { strings } = Learned.of(vocabulary)
    const found = PLACES.flatMap(([schema, texts]) => {
      const machine = machineOf(schema, QUOTED)
      return texts.map((text) => {
        const { frame } = placeAfter(machine, text)
        const what = [schema, String.fromCharCode(...text)]
        const list = strings.closers(frame)
        expect([what, listed(list)]).toEqual([what, closing(vocabulary, frame)])
        return { frame, list }
      })
    })
    const again = walked(vocabulary, () => {
      for (const { frame, list } of found) expect(strings.closers(frame)).toBe(list)
    })
    expect(again).toEqual([])
  })

  it('are the same of any text, whatever its limit, and of a quote are walked by its few ways', () => {
    const vocabulary = vocabularyOf(manyWords())
    const { strings } = Learned.of(vocabulary)
    const closers = (schema: object, text: string) =>
      strings.closers(placeAfter(machineOf(schema, QUOTED), inside(text)).frame)
    const any = { type: 'string' }
    const found = walked(vocabulary, () => {
      expect(closers({ ...any, maxLength: 90 }, 'a')).toBe(closers(any, ''))
      closers({ ...any, 'x-quote': true }, 'the')
    })
    expect(found).toEqual(['few'])
  })
})

describe('what is kept of strings', () => {
  it('counts with the tokens that close them', () => {
    const vocabulary = vocabularyOf(smallWords())
    const { strings } = Learned.of(vocabulary)
    const { frame } = placeAfter(machineOf({ type: 'string', 'x-quote': true }, QUOTED), inside('the'))
    const before = strings.bytes
    strings.closers(frame)
    expect(strings.bytes).toBeGreaterThanOrEqual(before + ENTRY_BYTES)
  })

  it('counts with each place that is reached', () => {
    const vocabulary = vocabularyOf(smallWords())
    const machine = machineOf(pattern('^[ab]{14}$'))
    const grown = (letters: number): number => {
      const { strings } = Learned.of(vocabulary)
      const before = strings.bytes
      new PlaceMasks(vocabulary, placeAfter(machine, inside('a'.repeat(letters)))).fill(-1)
      return strings.bytes - before
    }
    // Then all is known but where the tokens lead from the places between these.
    for (const letters of [0, 2, 8, 10]) grown(letters)
    // By one letter, by two, and by eight.
    const [three, two] = [grown(1), grown(9)]
    expect(two).toBeGreaterThanOrEqual(2 * ENTRY_BYTES)
    expect(three).toBeGreaterThan(two)
    // Nothing but these are new.
    expect(three).toBeLessThan(3 * ENTRY_BYTES)
  })

  it.each<[string, object, Uint8Array, number]>([
    ['dead ends', pattern('^[^/]*foo[^/]*$'), inside(''), Infinity],
    ['tokens', pattern('^([a-q][a-q])*$'), inside(''), Infinity],
    ['tokens of a quote', { type: 'string', 'x-quote': true }, inside('the'), Infinity],
    ['places that are reached', pattern('^(ab|cd)*é$'), inside(''), -1],
    ['places of keys', { type: 'object', minProperties: 2, properties: { ab: {} } }, key('x":1,"'), 0],
  ])('counts, and no other place of the same makes it less: %s', (_, schema, text, more) => {
    const vocabulary = vocabularyOf(manyWords())
    const { strings } = Learned.of(vocabulary)
    let before = strings.bytes
    for (let i = 0; i < 3; i++) {
      // Each of a compilation of its own, with a limit of its own: nothing is known of it.
      const limit = 'pattern' in schema ? { minLength: i } : 'properties' in schema ? { maxProperties: 9 + i } : {}
      const quoted = i === 0 ? QUOTED : [`${i}${QUOTED[0]}`]
      new PlaceMasks(vocabulary, placeAfter(machineOf({ ...schema, ...limit }, quoted), text)).fill(more)
      expect(strings.bytes).toBeGreaterThanOrEqual(before + ENTRY_BYTES)
      before = strings.bytes
    }
  })
})
