/** One choice, token by token: how each is to be drawn, what is told of it, and where it ends. */
import { describe, expect, it } from 'vitest'
import type { ChatCall, Part } from '../../contract/engine.js'
import type { SampleSettings } from '../../contract/token-model.js'
import { compile } from '../../grammar/structured.js'
import { Pulse, showPulse } from '../../platform/index.js'
import { ChatText } from '../chat-text.js'
import { DraftSource } from '../drafts/source.js'
import { call, collect, setUp, smallText } from '../testing/call.test-helper.js'
import { smallTokenizer } from '../testing/small-tokenizer.test-helper.js'
import { AnswerDecoder } from './answer.js'
import type { AnswerPlan } from './plan.js'
import { seedOfChoice, settledSampling } from './sampling.js'

const { tokenizer } = smallText
const ENDS = [...smallText.ends]
const [END] = ENDS as [number]
const ids = (text: string) => tokenizer.encodeMarker(text)
const [A, B, C] = [...'abc'].map((letter) => ids(letter)[0]!) as [number, number, number]
const PROMPT = ids('Say: ')
const textOf = (tokens: readonly number[]) => tokens.map((token) => tokenizer.shown(token)).join('')

function answering(part: Partial<ChatCall> = {}, more: Partial<AnswerPlan> = {}, choice = 0) {
  const request = call(part)
  const parts: Part[] = []
  const received = { parts, ends: 0, failed: [] as unknown[], wakes: 0 }
  const sink = {
    behind: false,
    push: (each: Part) => void parts.push(each),
    end: () => void received.ends++,
    fail: (error: unknown) => void received.failed.push(error),
  }
  const plan: AnswerPlan = {
    ...{ call: request, sampling: settledSampling(request, {}), text: smallText, prompt: PROMPT, scores: undefined },
    ...{ grounds: undefined, read: () => expect.fail('nothing is to be read'), opened: false, shortest: 0, limit: 50 },
    ...{ vocabSize: tokenizer.size, wake: () => void received.wakes++ },
    ...more,
  }
  const answer = new AnswerDecoder(plan, choice, sink)
  const take = (...tokens: number[]) => {
    for (const token of tokens) answer.take({ token })
  }
  const end = () => parts.find((each) => each.type === 'finish')
  const sent = () => parts.map((each) => (each.type === 'text-delta' ? each.text : '')).join('')
  const written = () => textOf(answer.tokens.slice(PROMPT.length))
  /** Draws the longest token each time that may come and goes on to this. */
  const write = (text: string) => {
    while (!answer.finished && written() !== text) {
      const rest = text.slice(written().length)
      const may = bits(answer.settings().mask).filter(
        (id) => tokenizer.shown(id) && rest.startsWith(tokenizer.shown(id)),
      )
      take(may.reduce((best, id) => (tokenizer.shown(id).length > tokenizer.shown(best).length ? id : best)))
    }
  }
  return { answer, received, sink, take, end, sent, written, write }
}

const sampling = (more: object) => ({ sampling: { ...call().sampling, ...more } })
const bits = (words: Uint32Array | undefined) =>
  Array.from({ length: tokenizer.size }, (_, id) => id).filter((id) => (words![id >>> 5]! >>> (id & 31)) & 1)
const maskAllBut = (...tokens: number[]) =>
  Array.from({ length: tokenizer.size }, (_, id) => id).filter((id) => !tokens.includes(id))
const json = { type: 'json_schema', name: 'x', strict: true, schema: true } as const
/** Of which a letter has to be drawn in the middle. */
const either = { output: json, grammar: compile({ enum: ['xay', 'xby'] }) }

describe('how a token is drawn', () => {
  const plain = { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0 }

  it('is what was asked for and no more, with a seed for each choice and a number for each token', () => {
    const { answer, take } = answering()
    expect(answer.settings()).toStrictEqual({ ...plain, seed: seedOfChoice(1, 0), index: 0 })
    const guided = answering(either).answer.settings()
    expect(Object.keys(guided).sort()).toEqual([...Object.keys(answer.settings()), 'mask'].sort())
    take(A, B)
    expect(answer.settings()).toEqual({ ...plain, seed: seedOfChoice(1, 0), index: 2 })
    expect(answering({}, {}, 3).answer.settings().seed).toBe(seedOfChoice(1, 3))
    const bias = new Map([[A, 3]])
    const more = answering({ ...sampling({ topK: 4, logitBias: bias }), topLogprobs: 0 }).answer.settings()
    expect(more).toEqual({ ...plain, seed: seedOfChoice(1, 0), index: 0, topK: 4, logitBias: bias, topLogprobs: 0 })
  })

  it.each(['presencePenalty', 'frequencyPenalty'])('counts what was said where it is asked to by %s', (name) => {
    const { answer, take } = answering(sampling({ [name]: 0.5 }))
    take(A, B, A)
    expect(answer.settings()).toMatchObject({ [name]: 0.5, counts: new Map([A, B].map((token, i) => [token, 2 - i])) })
    expect('repeats' in answer.settings()).toBe(false)
  })

  it('tells which tokens prompt and answer hold where repeating is to cost', () => {
    const { answer, take } = answering(sampling({ repetitionPenalty: 1.2 }))
    take(A)
    const { repeats, counts } = answer.settings()
    expect([repeats!.by, bits(repeats!.tokens), counts]).toEqual([
      1.2,
      [...new Set([...PROMPT, A])].sort((a, b) => a - b),
      undefined,
    ])
  })

  it('is less likely where it goes on with what was said, beside a bias', () => {
    const { answer, take } = answering(sampling({ dryMultiplier: 2, dryBase: 1, logitBias: new Map([[C, 1]]) }))
    expect(answer.settings().logitBias).toEqual(new Map([[C, 1]]))
    take(A, B, C, A, B)
    expect(answer.settings().logitBias).toEqual(new Map([[C, -1]]))
    expect('logitBias' in answering().answer.settings()).toBe(false)
  })

  it('is none that ends an answer which must go on', () => {
    const { answer, take } = answering({ minTokens: 2, stopTokens: [A] })
    expect([answer.mustGoOn, bits(answer.settings().mask)]).toEqual([true, maskAllBut(...ENDS, A)])
    take(B)
    expect(bits(answer.settings().mask)).toEqual(maskAllBut(...ENDS, A))
    take(B)
    expect([answer.mustGoOn, answer.settings().mask]).toEqual([false, undefined])
    for (const part of [{}, { ignoreEnds: true }]) {
      expect(bits(answering({ minTokens: 1, ...part }).answer.settings().mask)).toEqual(maskAllBut(...ENDS))
    }
  })

  it('is what a grammar lets come', () => {
    const { answer, write, sent, end } = answering(either)
    const may = bits(answer.settings().mask)
    expect([may.length > 0, may.includes(C), may.includes(END)]).toEqual([true, false, false])
    expect(answer.settings().index).toBe(answer.log.generated)
    write('"xby"')
    expect([sent(), end(), answer.finished]).toEqual(['"xby"', { type: 'finish', choice: 0, reason: 'stop' }, true])
  })
})

describe('what hangs on the tokens before', () => {
  it('is nothing where nobody asks, not even how a token is drawn', () => {
    const { answer, take } = answering()
    expect([answer.foreseeable, answer.draftable, answer.guessable]).toEqual([true, true, false])
    take(A)
    expect([answer.foreseeable, answer.draftable]).toEqual([true, true])
  })

  it.each([
    ['of counts', sampling({ presencePenalty: 1 })],
    ['of what repeats', sampling({ repetitionPenalty: 1.1 })],
    ['of stretches that repeat', sampling({ dryMultiplier: 1 })],
    ['of a least length', { minTokens: 1 }],
  ])('is a penalty %s', (_, part) => {
    const { answer, take } = answering(part)
    expect([answer.foreseeable, answer.draftable]).toEqual([false, false])
    take(A)
    const over = 'minTokens' in part
    expect([answer.foreseeable, answer.draftable]).toEqual([over, over])
  })

  it('is what a grammar lets come, and may be guessed where there is something to guess from', () => {
    expect([answering(either).answer.foreseeable, answering(either).answer.draftable]).toEqual([false, true])
    const source = () => new DraftSource(['the xby of all'])
    expect(answering(either).answer.guessable).toBe(false)
    expect(answering(either, { source }).answer.guessable).toBe(true)
    expect(answering({}, { source }).answer.guessable).toBe(false)
    expect(answering({ ...either, ...sampling({ presencePenalty: 1 }) }, { source }).answer.guessable).toBe(false)
  })

  it('are tokens that no model was asked for, until they were seen', () => {
    const { answer } = answering()
    answer.write([A, B])
    expect([answer.foreseeable, answer.kept, answer.log.generated]).toEqual([false, PROMPT.length, 2])
    answer.settle()
    expect([answer.foreseeable, answer.kept]).toEqual([true, PROMPT.length + 2])
  })
})

describe('how it may go on', () => {
  const room = { rows: 8, draws: 4 }
  const index = ({ index, seed, mask }: SampleSettings) => [index, seed, mask && bits(mask).includes(A)]

  it('is anything in free text, but behind what ends it', () => {
    const { answer, take } = answering({ stopTokens: [C] })
    take(A)
    const outlook = answer.outlook(room)!
    expect([outlook.free, outlook.tokens, outlook.drafted]).toEqual([true, [], undefined])
    expect(outlook.push(B)).toBe(true)
    expect(index(outlook.settings())).toEqual([2, seedOfChoice(1, 0), undefined])
    expect([outlook.push(C), outlook.push(END), outlook.push(A)]).toEqual([false, false, true])
    const { tokens, draws } = outlook.drafted!
    expect(tokens).toEqual([B, A])
    expect(draws.map(({ at, guess, settings }) => [at, guess, ...index(settings)])).toEqual([
      [0, { token: B, kind: 'model' }, 1, seedOfChoice(1, 0), undefined],
      [1, { token: A, kind: 'model' }, 2, seedOfChoice(1, 0), undefined],
      [2, undefined, 3, seedOfChoice(1, 0), undefined],
    ])
    expect('guess' in draws[2]!).toBe(false)
    expect(answer.foresee(room)).toBeUndefined()
  })

  it('is gone along while it shows whose mask it is at', () => {
    const pulse = new Pulse()
    showPulse(pulse.memory)
    const { answer } = answering({ id: 'a call' })
    const at: unknown[] = []
    Object.assign(answer.stops, { has: () => at.push(pulse.doing) > 1 })
    answer.outlook(room)!.push(A)
    expect(at).toEqual([{ stage: 'mask', of: 'a call' }])
  })

  it('is nothing behind an end of the model, though it ends no answer, nor behind the last that there is room for', () => {
    const { answer } = answering({ ignoreEnds: true }, { limit: 2 })
    const outlook = answer.outlook(room)!
    expect([outlook.push(END), outlook.push(A), outlook.push(B)]).toEqual([false, true, false])
  })

  it('is what a grammar lets come, with its masks', () => {
    const wide = { output: json, grammar: compile({ type: 'string', pattern: '^[ab]{4}$' }) }
    const { answer, write } = answering(wide)
    write('"')
    const outlook = answer.outlook(room)!
    expect([outlook.free, outlook.push(C), outlook.push(A)]).toEqual([false, false, true])
    const { generated } = answer.log
    expect(outlook.drafted!.draws.map(({ settings }) => index(settings))).toEqual([
      [generated, seedOfChoice(1, 0), true],
      [generated + 1, seedOfChoice(1, 0), true],
    ])
    // Nobody looks closer at a token than at a guess.
    expect(answering({ ...wide, topLogprobs: 1 }).answer.outlook(room)).toBeUndefined()
  })

  it('may stand in what is there to be guessed from', () => {
    const grammar = compile({ type: 'string', maxLength: 40 })
    const source = () => new DraftSource(['violet-orange-indigo'])
    const { answer, write } = answering({ output: json, grammar }, { source })
    write('"violet-')
    expect(textOf(answer.foresee({ rows: 30, draws: 30 })!.tokens)).toMatch(/^or/)
  })
})

describe('an answer ends', () => {
  it('with the last token that it may have', () => {
    const { answer, take, end, sent } = answering({}, { limit: 3 })
    take(A, B)
    expect([answer.remaining, answer.finished, end()]).toEqual([1, false, undefined])
    take(C)
    expect([answer.remaining, answer.finished, sent()]).toEqual([0, true, 'abc'])
    expect(end()).toEqual({ type: 'finish', choice: 0, reason: 'length' })
    const none = answering({}, { limit: 0 }, 2)
    expect([none.end(), none.received.ends]).toEqual([{ type: 'finish', choice: 2, reason: 'length' }, 1])
  })

  it.each<[string, Partial<ChatCall>, number[], object]>([
    ['with the model', {}, [A, END], { reason: 'stop' }],
    ['with a token of its own', { stopTokens: [C] }, [A, C], { reason: 'stop' }],
    ['with a text', { stop: ['b'] }, [A, B], { reason: 'stop', stop: 'b' }],
    ['and tells its tokens', { returnTokens: true }, [A, END], { reason: 'stop', tokens: [A, END] }],
    [
      'and the text that ended it with them',
      { stop: ['b'], returnTokens: true },
      [A, B],
      { stop: 'b', tokens: [A, B] },
    ],
  ])('%s', (_, part, tokens, fields) => {
    const { answer, take, end, sent, received } = answering(part)
    take(...tokens)
    expect([answer.finished, sent(), received.ends, received.failed]).toEqual([true, 'a', 1, []])
    expect(end()).toStrictEqual({ type: 'finish', choice: 0, reason: 'stop', ...fields })
  })

  it('with all that was said, though more of it might have been an end', () => {
    const { take, sent } = answering({ stop: ['bcd'] }, { limit: 2 })
    take(A, B)
    expect(sent()).toBe('ab')
  })

  it('not with the model where that is not to be heard', () => {
    const { answer, take, end } = answering({ ignoreEnds: true, stopTokens: [C] })
    take(A, END, B)
    expect([answer.finished, answer.log.generated]).toEqual([false, 3])
    take(C)
    expect(end()).toMatchObject({ reason: 'stop' })
  })

  it('where it fails, and goes on no more', () => {
    const { answer, received } = answering()
    answer.fail('broken')
    answer.resume()
    expect([answer.finished, received.failed, received.wakes, received.ends]).toEqual([true, ['broken'], 0, 0])
  })
})

describe('what stands in the model’s place', () => {
  it('is a thought’s mark where one is asked for, then its end, its budget spent', () => {
    const part = { ...either, templateOptions: { enable_thinking: true }, thinkingBudget: 2 }
    const { answer, take, written, received } = answering(part)
    const { open } = smallText.thoughtMarks!
    expect([written(), answer.following?.kind, answer.thought?.tokens]).toEqual([open, 'document', 0])
    take(A, B)
    expect([answer.thought?.tokens, answer.following]).toEqual([2, undefined])
    expect(written().startsWith(`${open}ab${textOf(smallText.endOfThought)}`)).toBe(true)
    expect(received.parts.flatMap((each) => (each.type === 'reasoning-delta' ? [each.text] : [])).join('')).toBe('ab')
    expect(answering().answer.thought).toBeUndefined()
  })

  it('is none of an open thought that the answer ends in, and which is shown to its end', () => {
    const { take, received, written } = answering({}, { opened: true, limit: 2 })
    // It might have been the mark's beginning.
    take(A, ...ids('<'))
    expect([written(), received.parts]).toEqual([
      'a<',
      [
        { type: 'reasoning-delta', choice: 0, text: 'a' },
        { type: 'reasoning-delta', choice: 0, text: '<' },
        { type: 'finish', choice: 0, reason: 'length' },
      ],
    ])
  })

  it('is the rest of a token that belongs to nobody else', () => {
    const long = ids(' the').length === 1 ? ' the' : expect.fail('the vocabulary has another word')
    for (const [rest, left] of [
      ['', ' the'],
      ['e', ' th'],
      [' the', ''],
      ['more than the', ''],
    ] as const) {
      const { answer, written } = answering()
      answer.write([A, ...ids(long)])
      answer.cut(rest)
      expect(written()).toBe(`a${left}`)
    }
  })

  it('is all of it, a mark of byte order as well', () => {
    const files = smallTokenizer()
    const last = files.tokenizer.added_tokens.at(-1)!
    const long = { ...last, content: '\u{feff}end', id: last.id + 1 }
    const tokenizer = { ...files.tokenizer, added_tokens: [...files.tokenizer.added_tokens, long] }
    const text = new ChatText({ ...files, tokenizer })
    const { answer } = answering({}, { text })
    answer.write([long.id])
    answer.cut('nd')
    expect(answer.tokens.slice(PROMPT.length)).toEqual(text.tokenizer.encodeContinuation('\u{feff}e'))
  })
})

describe('calls of tools', () => {
  const tools = [{ name: 'go', parameters: { type: 'object' }, strict: false }]
  const toolGrammar = compile({
    ...{ type: 'object', required: ['name', 'arguments'], additionalProperties: false },
    properties: { name: { const: 'go' }, arguments: { type: 'object', additionalProperties: false } },
  })
  const must = { tools, toolGrammar, toolChoice: 'required' as const, maxTokens: 90 }

  it('are opened in the model’s place where one must come, and end the answer', () => {
    const { answer, take, end, received } = answering(must, { limit: 90 })
    while (!answer.finished) {
      // It may be asked for wherever a token is drawn, between two calls as well.
      answer.outlook({ rows: 8, draws: 4 })
      take(bits(answer.settings().mask).find((id) => id === END) ?? ids('}')[0]!)
    }
    expect(end()).toMatchObject({ reason: 'tool_calls' })
    const calls = received.parts.flatMap((each) => (each.type === 'tool-call-delta' ? [each.arguments] : []))
    expect(JSON.parse(calls.join(''))).toEqual({})
  })

  it('are opened by the model where one may come, and it says so', () => {
    const { answer, take, written, end, sent } = answering({ ...must, toolChoice: 'auto' }, { limit: 90 })
    take(A, ...ids('<tool_call>'))
    expect([answer.settings().mask === undefined, written().startsWith('a<tool_call>')]).toEqual([false, true])
    while (!answer.finished) take(bits(answer.settings().mask).find((id) => id === END) ?? ids('}')[0]!)
    expect([sent(), end()]).toEqual(['a', { type: 'finish', choice: 0, reason: 'tool_calls' }])
  })

  it('that find no room end the answer as its length does', () => {
    const { end } = answering(must, { limit: 3 })
    expect(end()).toMatchObject({ reason: 'length' })
  })
})

describe('who waits', () => {
  it('is an answer whose reader is behind', () => {
    const { answer, sink } = answering()
    expect(answer.paused).toBe(false)
    sink.behind = true
    expect(answer.paused).toBe(true)
  })

  it('is an answer of which a value is being weighed', async () => {
    const schema = { type: 'object', properties: { c: { type: 'string', pattern: '^[a-e]{6}$' } }, required: ['c'] }
    const output = { ...json, schema: { ...schema, additionalProperties: false } }
    let own: unknown
    let weighed = 0
    const before = (batch: readonly { readonly sequence: unknown }[]) => {
      own ??= batch[0]!.sequence
      const others = batch.filter(({ sequence }) => sequence !== own)
      if (others.length > 0) weighed++
      // Others are read in its place, and it is not.
      expect([0, batch.length]).toContain(others.length)
    }
    const { decoder } = setUp({ before })
    const one = call({ evidence: true, output, grammar: compile(output.schema), ...sampling({ seed: 4 }) })
    const { parts, reasons } = await collect(decoder.generate(one))
    expect([reasons, parts.filter(({ type }) => type === 'evidence').length, weighed > 0]).toEqual([['stop'], 1, true])
  })

  it('goes on and wakes the others', () => {
    const { answer, received } = answering()
    answer.resume()
    expect(received.wakes).toBe(1)
  })

  it('is the first of several choices, until its prompt is scored', () => {
    const scores = { open: 1, scored: 0, settings: () => expect.fail(), take() {} }
    const scored = { scores: scores as never, limit: 0 }
    const [first, second] = [0, 1].map((choice) => answering({ n: 2 }, scored, choice))
    expect([first!.answer.scores, second!.answer.scores]).toEqual([scores, undefined])
    expect([first!.answer.finished, second!.answer.finished]).toEqual([false, false])
    scores.open = 0
    first!.answer.begin()
    expect(first!.answer.finished).toBe(true)
  })

  it('hears how much of its prompt was there, of it alone', () => {
    const { answer } = answering()
    expect([answer.cachedTokens, answer.request]).toEqual([0, 'chatcmpl-test'])
    answer.cached(2)
    expect(answer.cachedTokens).toBe(2)
    answer.cached(PROMPT.length + 5)
    expect(answer.cachedTokens).toBe(PROMPT.length)
    expect([answer.promptLength, answer.tokens.length]).toEqual([PROMPT.length, PROMPT.length])
  })
})
