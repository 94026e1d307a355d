import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commonLength, joined } from '../../platform/bytes.js'
import { compile } from '../structured.js'
import { vocabularyOf } from '../testing.test-helper.js'
import { bytesOf, forcedTokens, narrow, planForced, type TokenSpelling } from './forced.js'

const utf8 = new TextEncoder()
const WORDS = ['{"', '":', '","', '":"', '"}', 'name', 'na', 'me', 'city', 'ci', 'publish', 'published', 'able', 'ed']
const MORE = ['12', '123', ' name', 'é', '日本', '}}', '": "']
/** Every byte, then words; the last stands for no text. */
const TOKENS = [
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...[...WORDS, ...MORE].map((word) => utf8.encode(word)),
  new Uint8Array(),
]
const SILENT = TOKENS.length - 1

/** Of what comes next the longest token each time, as many tokenizers nearly do. */
const spelling: TokenSpelling & { encoded: string[] } = {
  encoded: [],
  encodeContinuation(text) {
    this.encoded.push(text)
    const bytes = utf8.encode(text)
    const ids: number[] = []
    for (let at = 0; at < bytes.length; at += TOKENS[ids.at(-1)!]!.length) {
      let best = bytes[at]!
      for (let id = 256; id < SILENT; id++) {
        const token = TOKENS[id]!
        const here = token.every((byte, i) => byte === bytes[at + i])
        if (here && token.length > TOKENS[best]!.length) best = id
      }
      ids.push(best)
    }
    return ids
  },
  bytes: (token) => TOKENS[token]!,
}
const encode = (text: string) => spelling.encodeContinuation(text)
const textOf = (tokens: readonly number[]) => new TextDecoder().decode(bytesOf(spelling, tokens))

const parts = [...WORDS, ...MORE, 'a', '"', ' ', '9', 'ü', '語']
const text = fc.array(fc.constantFrom(...parts), { maxLength: 8 }).map((all) => all.join(''))

describe('a plan for text that is certain', () => {
  it('is what the tokenizer gives the whole text, whatever follows', () => {
    fc.assert(
      fc.property(text, text, fc.constantFrom('', 'a', '"', '0', ' ', '}'), (before, certain, after) => {
        const answer = encode(before)
        const kept = (more: string) => commonLength(answer, encode(before + certain + more))
        // What is written stays, where only what is not known yet would have made it another token.
        fc.pre(kept('') === kept(after))
        const run = planForced(spelling, answer, utf8.encode(certain), false)!
        const written = [...answer.slice(0, answer.length - run.replace), ...run.tokens]
        expect(encode(before + certain + after).slice(0, written.length)).toEqual(written)
        expect(bytesOf(spelling, written).length).toBe(utf8.encode(before).length + run.covered)
        expect(run.covered).toBeLessThanOrEqual(utf8.encode(certain).length)
        // What may come behind it, in one way or another.
        const [next] = encode(before + certain + after).slice(written.length)
        if (next !== undefined && run.next.length > 0) expect(run.next).toContain(next)
      }),
    )
  })

  it('is the whole text to its end, where nothing follows', () => {
    fc.assert(
      fc.property(text, text, (before, certain) => {
        const answer = encode(before)
        const run = planForced(spelling, answer, utf8.encode(certain), true)!
        expect([...answer.slice(0, answer.length - run.replace), ...run.tokens]).toEqual(encode(before + certain))
        expect([run.covered, run.next]).toEqual([utf8.encode(certain).length, []])
      }),
    )
  })

  it.each([
    // Nothing can merge with what comes.
    ['{"', 'name":', 0, 'name', ['":']],
    ['', '{"name":', 0, '{"name', ['":']],
    // A token of the answer would have been another with what is certain.
    ['{"na', 'me":1', 1, 'name":1', ['"']],
    ['{"n', 'ame', 1, 'name', ['"']],
    // It may become one of several, or stay what it is.
    ['{"name', '":', 0, '', ['":', '":"']],
    ['{"', 'publish', 0, 'publish', ['"']],
  ])('behind %j of %j takes back %i and says %j', (before, certain, replace, written, next) => {
    const run = planForced(spelling, encode(before), utf8.encode(certain), false)!
    expect([run.replace, textOf(run.tokens)]).toEqual([replace, written])
    const tokens = run.next.map((token) => textOf([token]))
    expect(tokens).toEqual(expect.arrayContaining(next))
  })

  it('goes on from the last token of a text that the tokenizer would have written otherwise', () => {
    // Letter by letter, where it has a word.
    const run = planForced(spelling, [...utf8.encode('na')], utf8.encode('me":'), true)!
    expect([run.replace, textOf(run.tokens)]).toEqual([0, 'me":'])
  })

  it('leaves out no mark of the order of bytes', () => {
    const text = '\ufeffname'
    const run = planForced(spelling, [], utf8.encode(text), true)!
    expect([run.tokens, run.covered]).toEqual([encode(text), utf8.encode(text).length])
  })

  it('is none of bytes that are inside of a character', () => {
    const [first, ...rest] = utf8.encode('é')
    expect(planForced(spelling, [], new Uint8Array(4).fill(rest[0]!), true)).toBeUndefined()
    expect(planForced(spelling, [], Uint8Array.from(rest), true)?.tokens ?? []).toEqual([])
    expect(planForced(spelling, [first!], Uint8Array.from(rest), true)).toMatchObject({ replace: 1, covered: 1 })
  })

  it('leaves a character that is cut at its end for the next token to begin with', () => {
    const bytes = utf8.encode('name":語')
    for (const cut of [1, 2]) {
      const run = planForced(spelling, encode('{"'), bytes.subarray(0, bytes.length - cut), true)!
      expect([textOf(run.tokens), run.covered]).toEqual(['name":', 6])
    }
  })
})

describe('what stands before a certain text', () => {
  const [NEW, OTHER] = [0x7e, 0x2a]
  /** A tokenizer that reads an end of `answer` of so many tokens as it says, and all else as one token. */
  function reading(answer: readonly number[], reads: Readonly<Record<number, readonly number[]>>) {
    const lengths: number[] = []
    const tokenizer: TokenSpelling = {
      encodeContinuation(text) {
        lengths.push(text.length - 1)
        return reads[text.length - 1] ?? [OTHER]
      },
      bytes: (token) => (token === OTHER ? new Uint8Array(20) : Uint8Array.of(token)),
    }
    return { run: planForced(tokenizer, answer, Uint8Array.of(NEW), true), lengths }
  }
  const answer = [...utf8.encode('abcdefghijklmn')]
  const last = (count: number) => answer.slice(answer.length - count)

  it.each([
    [3, [3]],
    [6, [3, 6]],
    [12, [3, 6, 12]],
    [1, [3, 6, 12, 1]],
    [0, [3, 6, 12, 1, 0]],
  ])('is read again from its last %i tokens on, where fewer do not tell', (count, lengths) => {
    const result = reading(answer, { [count]: [...last(count), NEW] })
    expect(result).toEqual({ run: { replace: 0, tokens: [NEW], covered: 1, next: [] }, lengths })
  })

  it('may be shorter, or nothing', () => {
    const few = (count: number) => reading(answer.slice(0, count), {})
    expect([few(0), few(1), few(2), few(6)].map(({ lengths }) => lengths)).toEqual([
      [0],
      [1, 1, 0],
      [2, 1, 0],
      [3, 6, 1, 0],
    ])
    expect([few(0), few(6)].map(({ run }) => run)).toEqual([undefined, undefined])
  })

  it.each([
    // How many are read again, how many of them as they were, and whether so many may be replaced.
    [3, 3, true],
    [3, 2, true],
    [3, 1, true],
    [3, 0, false],
    [6, 4, true],
    [6, 3, false],
    [12, 10, true],
    [12, 9, false],
    [1, 0, true],
  ])(
    'is kept but for its last two tokens, of which one is, where there are several: %i, %i as they were',
    (size, kept, may) => {
      // The others one by one as capitals.
      const tail = last(size)
      const read = tail.map((token, i) => (i < kept ? token : token - 0x20))
      const { run } = reading(answer, { [size]: [...read, NEW] })
      const replaced = { replace: size - kept, tokens: [...read.slice(kept), NEW], covered: 1, next: [] }
      expect(run).toEqual(may ? replaced : undefined)
    },
  )

  it('is not read by a tokenizer that leaves out some of a text, or puts something in', () => {
    for (const [more, read] of [
      [true, [...last(3), NEW]],
      [true, last(3)],
      [false, last(3).slice(0, 2)],
      [false, [...last(3), NEW, NEW]],
    ] as const) {
      expect([read, reading(answer, { 3: read }).run !== undefined]).toEqual([read, more])
    }
  })
})

describe('what is certain however a text goes on', () => {
  it.each([...'"a0 [}-\'.(/\\<#%@'])('is no token that may become another with %j behind it', (begin) => {
    const both = utf8.encode(`9${begin}`)
    const tokenizer: TokenSpelling = {
      encodeContinuation: (text) => [...utf8.encode(text.replaceAll(`9${begin}`, '\0'))],
      bytes: (token) => (token === 0 ? both : Uint8Array.of(token)),
    }
    const plan = (certain: string) => planForced(tokenizer, [], utf8.encode(certain), false)
    expect(plan('9')).toEqual({ replace: 0, tokens: [], covered: 0, next: [0x39, 0] })
    expect(plan('89')).toMatchObject({ tokens: [0x38], covered: 1 })
    expect(plan('98')).toEqual({ replace: 0, tokens: [0x39, 0x38], covered: 2, next: expect.any(Array) })
  })

  /** Letter by letter, but for the texts that have tokens of their own. */
  const lettersBut = (words: RegExp, merges = (_text: string) => true): TokenSpelling => ({
    encodeContinuation: (text) =>
      [...text.matchAll(merges(text) ? new RegExp(`${words.source}|.`, 'g') : /./g)].map(([word]) =>
        word.length === 1 ? word.charCodeAt(0) : 0x100 + word.length,
      ),
    bytes: (token) => (token < 0x100 ? Uint8Array.of(token) : new Uint8Array(token - 0x100)),
  })

  it('is looked for before its last tokens where these would be others by themselves', () => {
    const tokenizer = lettersBut(/ab/, (text) => !text.startsWith('x'))
    const run = planForced(tokenizer, [], utf8.encode('x1234cdab'), false)
    expect(run).toMatchObject({ tokens: [...utf8.encode('x1234cdab')], covered: 9 })
  })

  it('is looked for before its last tokens where all of these may become others', () => {
    const run = planForced(lettersBut(/a+"/), [], utf8.encode('12aaaaa'), false)
    expect(run).toMatchObject({ tokens: [...utf8.encode('12')], covered: 2 })
  })

  it.each([
    ['its last tokens begin within a character', 'aüabc', spelling],
    [
      'its tokens are of another text',
      'ABCDEF',
      { ...spelling, encodeContinuation: (text: string) => encode(text.toLowerCase()) },
    ],
  ])('is found by the whole text where %s', (_, text, tokenizer) => {
    const requests: string[] = []
    const encodeContinuation = (text: string) => {
      requests.push(text)
      return tokenizer.encodeContinuation(text)
    }
    const run = planForced({ ...tokenizer, encodeContinuation }, [], utf8.encode(text), false)!
    expect(run.covered).toBe(utf8.encode(text).length)
    expect(requests.filter((of) => !of.startsWith(text))).toEqual([])
  })

  it('is found by the last tokens, once for all texts that end alike', () => {
    const asks = (text: string) => {
      spelling.encoded.length = 0
      planForced(spelling, [], utf8.encode(text), false)
      return spelling.encoded.length
    }
    const [first, same, alike, other] = ['"city":"9ß9"', '"city":"9ß9"', '"name":"9ß9"', '"city":"9ß8"'].map(asks)
    expect([same, alike, first! > 10, other! > 10]).toEqual([1, 1, true, true])
  })
})

describe('certain text of a grammar', () => {
  const vocabulary = vocabularyOf({ tokens: [...TOKENS.slice(0, -1), undefined], eos: [SILENT], special: [] })
  const ends = { enum: ['published', 'publishable'] }
  const start = (schema: unknown, before = '') => {
    const constraint = compile(schema).start(vocabulary)
    const written = encode(before)
    for (const token of written) expect(constraint.accept(token)).toBe(true)
    return { constraint, written }
  }
  const object = {
    type: 'object',
    properties: { name: { const: 'name' } },
    required: ['name'],
    additionalProperties: false,
  }

  it('is written to its end where nothing else may follow', () => {
    const { constraint, written } = start(object)
    const run = forcedTokens(constraint, spelling, written)!
    expect(textOf(run.tokens)).toBe('{"name":"name"}')
    expect(run.tokens).toEqual(encode('{"name":"name"}'))
    const half = start(object, '{"na')
    const rest = forcedTokens(half.constraint, spelling, half.written)!
    expect([rest.replace, textOf(rest.tokens)]).toEqual([1, 'name":"name"}'])
    // What was asked is as it was.
    expect(half.constraint.accept(encode('me')[0]!)).toBe(true)
  })

  it('is what all ways have in common where they part', () => {
    const { constraint, written } = start(ends, '"')
    const run = forcedTokens(constraint, spelling, written)!
    expect([textOf(run.tokens), run.covered]).toEqual(['publish', 7])
  })

  it('is whole where nothing may follow, though its last token would go on elsewhere', () => {
    const whole = (budget?: number) => forcedTokens(start({ const: 'name' }).constraint, spelling, [], budget)
    const run = whole()!
    expect([textOf(run.tokens), run.covered, run.next]).toEqual(['"name"', 6, []])
    // A list may end there, or not.
    const { constraint } = start({ type: 'array', items: { const: 'name' }, minItems: 1 })
    const part = forcedTokens(constraint, spelling, [])!
    expect([textOf(part.tokens), part.covered]).toEqual(['["name', 6])
    const [fits, short] = [run.tokens.length, run.tokens.length - 1].map(whole)
    expect([fits, short?.tokens ?? []]).toEqual([run, []])
  })

  it('is whole where it is one letter', () => {
    const { constraint, written } = start({ const: 'name' }, '"name')
    const run = forcedTokens(constraint, spelling, written)!
    expect([textOf(run.tokens), run.covered, run.next]).toEqual(['"', 1, []])
  })

  it('is asked for once where nothing that follows may change it', () => {
    const asks = () => {
      const { constraint } = start(object)
      spelling.encoded.length = 0
      expect(forcedTokens(constraint, spelling)!.covered).toBe('{"name":"name"}'.length)
      return spelling.encoded
    }
    asks()
    // Its end is known by then.
    expect(asks()).toEqual(['{"name":"name"}'])
  })

  it('is none where what stands before it is not told, and it goes on in the midst of a character', () => {
    const { constraint } = start({ const: 'é and more' })
    for (const token of [0x22, 0xc3]) expect(constraint.accept(token)).toBe(true)
    expect(forcedTokens(constraint, spelling)).toBeUndefined()
  })

  it('says what may come next where none of it is certain, whatever the budget', () => {
    const { constraint, written } = start(ends, '"')
    const all = forcedTokens(constraint, spelling, written)
    const part = start({ type: 'array', items: { const: 'name' }, minItems: 1 }, '["name')
    const run = forcedTokens(part.constraint, spelling, part.written, 0)!
    expect([all!.covered, run.covered, run.tokens]).toEqual([7, 0, []])
    expect(run.next).toContain(0x22)
  })

  it('is none where anything may come', () => {
    const { constraint, written } = start({ type: 'string' }, '"')
    expect(forcedTokens(constraint, spelling, written)).toBeUndefined()
  })

  it('is none where the tokenizer spells it with a token that stands for no text', () => {
    const [name] = encode('name')
    const without = TOKENS.slice(0, -1).map((token, id) => (id === name ? undefined : token))
    const other = vocabularyOf({ tokens: [...without, undefined], eos: [SILENT], special: [] })
    const schema = { const: 'name' }
    expect(forcedTokens(compile(schema).start(vocabulary), spelling)?.tokens).toContain(name)
    expect(forcedTokens(compile(schema).start(other), spelling)).toBeUndefined()
  })

  it('is none where the budget has no room for it, and what it replaces counts', () => {
    const tokens = encode('{"name":"name"}').length
    const fits = (budget: number, before = '') => {
      const { constraint, written } = start(object, before)
      return (forcedTokens(constraint, spelling, written, budget)?.tokens.length ?? 0) > 0
    }
    expect([fits(tokens), fits(tokens - 1)]).toEqual([true, false])
    // One of two is taken back: of the rest one fewer is new.
    expect([fits(tokens - 2, '{"na'), fits(tokens - 3, '{"na')]).toEqual([true, false])
  })

  it('is spelled behind a token without text as if nothing stood before it', () => {
    const { constraint } = start(object)
    spelling.encoded.length = 0
    const run = forcedTokens(constraint, spelling, [...encode('name'), SILENT])!
    expect(textOf(run.tokens)).toBe('{"name":"name"}')
    expect(spelling.encoded.some((text) => text.startsWith('name{'))).toBe(false)
    // And of long answers only what stands last is read.
    spelling.encoded.length = 0
    forcedTokens(
      constraint,
      spelling,
      Array.from({ length: 100 }, () => 0x20),
    )
    expect(Math.max(...spelling.encoded.map((text) => text.length))).toBeLessThan(40)
  })
})

describe('the next token of a text', () => {
  const maskOf = (tokens: readonly number[]) => {
    const mask = new Uint32Array((TOKENS.length + 31) >> 5)
    for (const token of tokens) mask[token >>> 5]! |= 1 << (token & 31)
    return mask
  }
  const narrowed = (tokens: readonly number[], bytes: string, others: readonly number[]) => {
    const mask = maskOf(tokens)
    narrow(mask, utf8.encode(bytes), others, spelling)
    return TOKENS.flatMap((_, id) => ((mask[id >>> 5]! >>> (id & 31)) & 1 ? [id] : []))
  }
  const ids = (...words: string[]) => words.map((word) => encode(word)[0]!).sort((a, b) => a - b)

  it('is one that begins with what is certain, or another that may come there', () => {
    const all = ids('name', 'na', 'n', 'published', 'publish', '12')
    expect(narrowed(all, 'na', [])).toEqual(ids('name', 'na'))
    expect(narrowed(all, 'na', ids('12'))).toEqual(ids('name', 'na', '12'))
    // What the mask does not have is none.
    expect(narrowed(all, 'na', ids('city'))).toEqual(ids('name', 'na'))
    expect(narrowed(all, 'publishe', [])).toEqual(ids('published'))
  })

  it('is any where nothing is certain, or none would be left', () => {
    const all = ids('name', 'n', '12')
    expect(narrowed(all, '', [])).toEqual(all)
    expect(narrowed(all, 'xyz', [])).toEqual(all)
    expect(narrowed(all, '', ids('n'))).toEqual(all)
  })

  it('may have any number', () => {
    for (const id of [0, 31, 32, 63, 255]) {
      expect(narrowed([id, 0x6e], new TextDecoder('latin1').decode(Uint8Array.of(id)), [])).toContain(
        id < 0x80 ? id : 0x6e,
      )
    }
  })
})

it('lists have so many items in common', () => {
  expect(commonLength([1, 2, 3], [1, 2, 4])).toBe(2)
  expect(commonLength([1, 2, 3], [1, 2])).toBe(2)
  expect(commonLength([1, 2], [1, 2, 3])).toBe(2)
  expect(commonLength([], [1])).toBe(0)
  expect(commonLength([1, 2, 3], [1, 2, 3], 1)).toBe(1)
  expect(commonLength([1, 2, 3], [1, 2, 3], 9)).toBe(3)
  expect([...bytesOf(spelling, encode('{"name'))]).toEqual([...joined([utf8.encode('{"name')])])
})
