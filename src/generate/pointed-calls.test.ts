/** What a call gets of its model where another one points at values beside it. */
import { describe, expect, it, vi } from 'vitest'
import type { Part, Usage } from '../contract/engine.js'
import { compile } from '../grammar/structured.js'
import { ChatText } from './chat-text.js'
import { DecodeLoop } from './decode-loop.js'
import { call, collect, nextTurn, setUp, smallText } from './testing/call.test-helper.js'
import { RandomModel, type RandomModelOptions } from './testing/random-model.test-helper.js'
import { smallTokenizer } from './testing/small-tokenizer.test-helper.js'

const { tokenizer } = smallText
const endless = { next: () => tokenizer.encodePlain('a', 1)[0] }
const signal = new AbortController().signal
const output = { type: 'json_schema', name: 'x', strict: true, schema: {} } as const
const questions = [{ type: 'choice', instructions: 'Is it?', options: [{ text: 'yes' }, { text: 'no' }] }]
const decision = (part = {}) =>
  ({ id: 'd', model: 'a/b', signal, state: 'A state.', questions, order: 'given', ...part }) as never
const question = (text: string, part = {}) => ({ id: 'p', model: 'a/b', signal, text, questions: [], ...part })

function setUpWith(pointer: object, options: Partial<RandomModelOptions> = endless, text = smallText) {
  const model = new RandomModel({ vocabSize: text.tokenizer.size, ...options })
  return { model, decoder: new DecodeLoop(model, text, { pointer: pointer as never }) }
}

describe('an answer', () => {
  const grammar = compile({ enum: ['red', 'blue'] })
  const request = call({ grammar, output, maxTokens: 20 })

  it('is written by what was settled, and told by who has settled it', async () => {
    function* parts(part: Part): Iterable<Part> {
      if (part.type === 'text-delta') yield { ...part, text: part.text.toUpperCase() }
      else yield part
    }
    const narrowed = vi.fn(async () => ({ grammar: compile({ const: 'blue' }), longer: 0, parts }))
    const { texts, reasons } = await collect(setUpWith({ narrowed }).decoder.generate(request))
    expect([texts, reasons]).toEqual([['"BLUE"'], ['stop']])
    expect(narrowed.mock.calls).toEqual([[request, 20 - grammar.start(smallText.vocabulary).shortest]])
  })

  it('is the model’s own where nothing was settled', async () => {
    const own = await collect(setUp(endless).decoder.generate(request))
    const same = await collect(setUpWith({ narrowed: async () => undefined }).decoder.generate(request))
    expect(same).toEqual(own)
  })

  it('leaves its thoughts so many tokens less as what was settled is longer', async () => {
    const chatTemplate = "{% for message in messages %}{{ message.content + '\\n' }}{% endfor %}{{ '<think>\\n' }}"
    const chat = new ChatText({ ...smallTokenizer(), chatTemplate })
    const thoughtOf = async (longer: number) => {
      const narrowed = async () => ({ grammar, longer, parts: (part: Part) => [part] })
      const one = call({ grammar, output, maxTokens: 60, thinkingBudget: 100 })
      const { usage } = await collect(setUpWith({ narrowed }, endless, chat).decoder.generate(one))
      return (usage as Usage).reasoningTokens!
    }
    expect((await thoughtOf(0)) - (await thoughtOf(3))).toBe(3)
  })
})

describe('a decision', () => {
  it('is one of both, unless the model thinks about it', async () => {
    const decided = vi.fn(async (_: unknown, by: object) => ({ ...by, both: true }))
    const { decoder } = setUpWith({ decided, narrowed: async () => undefined }, {})
    const own = await setUp().decoder.decide(decision())
    expect(await decoder.decide(decision())).toEqual({ ...own, both: true })
    expect(decided.mock.calls).toEqual([[decision(), own]])
    expect(await decoder.decide(decision({ thinkingBudget: 5 }))).not.toHaveProperty('both')
    expect(decided).toHaveBeenCalledTimes(1)
  })
})

describe('fields of a text', () => {
  const usage = { promptTokens: 3, completionTokens: 0, cachedTokens: 0 }

  it('are pointed at where there is one that points, and it has an answer', async () => {
    const pointed = vi.fn(async ({ text }: { text: string }) => (text === '' ? undefined : { answers: [], usage }))
    const { decoder, model } = setUpWith({ pointed })
    expect(await decoder.point(question('A text.'))).toEqual({ answers: [], usage, fingerprint: model.fingerprint })
    expect(await decoder.point(question(''))).toBeUndefined()
    expect(pointed.mock.calls).toEqual([[question('A text.')], [question('')]])
    expect(await setUp().decoder.point(question('A text.'))).toBeUndefined()
  })

  it('are not for who has left', async () => {
    const pointed = vi.fn()
    const gone = question('A text.', { signal: AbortSignal.abort(new Error('gone')) })
    await expect(setUpWith({ pointed }).decoder.point(gone)).rejects.toThrow('gone')
    expect(pointed).not.toHaveBeenCalled()
  })
})

describe('one that points', () => {
  const lost = new Error('lost')

  it('fails all that its model is asked for once it has failed', async () => {
    const { decoder, model } = setUpWith({ failure: lost })
    const [one, other] = [collect(decoder.generate(call())), decoder.point(question('A text.'))]
    for (const each of [one, other, decoder.decide(decision())]) await expect(each).rejects.toBe(lost)
    expect([decoder.failure, model.steps]).toEqual([lost, []])
  })

  it('may fail while it is asked: then nothing is written', async () => {
    const pointer = {
      failure: undefined as unknown,
      narrowed: async () => {
        pointer.failure = lost
      },
    }
    const { decoder, model } = setUpWith(pointer)
    await expect(collect(decoder.generate(call({ maxTokens: 1 })))).rejects.toBe(lost)
    expect(model.steps).toEqual([])
  })

  it('is stopped with its model, which is freed once nothing is pointed at any more', async () => {
    const stopped: unknown[] = []
    let end = () => {}
    const stop = (reason: unknown) => {
      stopped.push(reason)
      return new Promise<void>((resolve) => {
        end = resolve
      })
    }
    setUpWith({ stop }).decoder.abandon(lost)
    expect(stopped.splice(0)).toEqual([lost])
    const { decoder, model } = setUpWith({ stop })
    const closing = decoder.close()
    for (let i = 0; i < 5; i++) await nextTurn()
    expect(stopped).toMatchObject([{ status: 503, code: 'model_unloaded' }])
    expect(model.closed).toBe(false)
    end()
    await closing
    expect(model.closed).toBe(true)
  })
})
