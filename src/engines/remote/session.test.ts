/** What goes over the line to the other side, and what comes of what is said there: the other side is played by hand. */
import { describe, expect, it, vi } from 'vitest'
import type { ChatCall, ModelInfo, Part } from '../../contract/index.js'
import { breathe } from '../../platform/index.js'
import type { Port } from './port.js'
import { type EngineCommand, type EngineReply, WINDOW } from './protocol.js'
import { Session } from './session.js'

/** A line of which the other end is in the test's hand. */
function line() {
  const posted: EngineCommand[] = []
  const modelLists: unknown[][] = []
  const busy: boolean[] = []
  let listener = (_: unknown) => {}
  let closed = false
  const port: Port = {
    post: (message) => void posted.push(message as EngineCommand),
    listen: (to) => {
      listener = to
    },
    whenGone() {},
    close() {
      closed = true
    },
  }
  const session = new Session(port, { models: (...all) => modelLists.push(all), busy: (is) => busy.push(is) })
  const says = (...replies: readonly object[]) => listener(replies as EngineReply[])
  const types = () => posted.map(({ type }) => type)
  return { session, port, posted, types, modelLists, busy, says, isClosed: () => closed }
}

/** Promises that are settled have been followed, and nothing else has happened. */
const followed = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
const never = () => new AbortController().signal
const chat = (part: object = {}) => ({ id: 'r', model: 'a/b', signal: never(), ...part }) as unknown as ChatCall
const text = (content: string) => ({ type: 'text-delta', choice: 0, text: content })
const part = (id: number, content: string) => ({ type: 'part', id, part: text(content) })
const parts = (id: number, count: number) => Array.from({ length: count }, (_, i) => part(id, `${i}`))
const done = (id: number) => ({ type: 'done', id })
const failed = (id: number, message: string, v1?: object) => ({
  type: 'failed',
  id,
  failure: { name: 'E', message, v1 },
})

/** What came of it, as soon as something has. */
function fateOf(promise: Promise<unknown>): { readonly is: unknown } {
  const fate = { is: 'open' as unknown }
  promise.then(
    (value) => {
      fate.is = value
    },
    (error: unknown) => {
      fate.is = { error }
    },
  )
  return fate
}

/** A text that is asked for, and has been posted. */
async function begun({ session }: ReturnType<typeof line>, call = chat()) {
  const answer = session.generate(call)
  const next = answer.next()
  await followed()
  return { answer, next }
}

describe('an answer', () => {
  it('is asked for there, and is what comes from there', async () => {
    const one = line()
    const { answer, next } = await begun(one, chat({ n: 2 }))
    const about = { model: 'a/b', request: 'r' }
    const rest = { id: 'r', model: 'a/b', n: 2 }
    expect(one.posted).toEqual([{ type: 'generate', id: 1, call: { about, rest, grammars: {}, spelled: {} } }])
    expect([one.session.busy, one.busy]).toEqual([true, [true]])
    one.says(part(1, 'Hi'), part(1, ' you'), done(1))
    expect(await next).toEqual({ done: false, value: text('Hi') })
    const rests: Part[] = []
    for await (const each of answer) rests.push(each)
    expect(rests).toEqual([text(' you')])
    expect([one.session.busy, one.busy, one.types()]).toEqual([false, [true, false], ['generate']])
  })

  it('has the other side hear now and then how much of it was read', async () => {
    const one = line()
    const { answer, next } = await begun(one)
    one.says(...parts(1, 40), done(1))
    await next
    const received: number[] = []
    for await (const { text: content } of answer as AsyncIterable<{ text: string }>) {
      const taken = one.posted.flatMap((each) => (each.type === 'taken' ? [[each.id, each.parts]] : []))
      if (taken.length > received.length) received.push(Number(content))
      for (const each of taken) expect(each).toEqual([1, WINDOW / 4])
    }
    expect(received).toEqual([WINDOW / 4, WINDOW / 2])
  })

  it('fails as it failed there, behind what was said before', async () => {
    const one = line()
    const { answer, next } = await begun(one)
    const v1 = { status: 429, type: 'rate_limit_error', param: 'n', code: 'full', retryAfter: 2, headers: { a: 'b' } }
    one.says(part(1, 'Hi'), failed(1, 'full there', v1))
    expect(await next).toMatchObject({ value: text('Hi') })
    await expect(answer.next()).rejects.toMatchObject({ message: 'full there', ...v1 })
    expect(one.types()).toEqual(['generate'])
    expect(one.session.busy).toBe(false)
  })

  it.each(['by its signal', 'in the midst', 'by return'])(
    'that is left %s is over once the other side has freed what it held',
    async (how) => {
      const one = line()
      const leaving = new AbortController()
      const [added, removed] = (['addEventListener', 'removeEventListener'] as const).map((name) =>
        vi.spyOn(leaving.signal, name),
      )
      const { answer, next } = await begun(one, chat({ signal: leaving.signal }))
      let left = next as Promise<unknown>
      if (how !== 'by its signal') {
        one.says(part(1, 'Hi'), part(1, ' you'))
        await next
        if (how === 'in the midst') leaving.abort('gone')
        left = how === 'in the midst' ? answer.next() : answer.return(undefined)
      } else leaving.abort('gone')
      const fate = fateOf(left)
      await followed()
      expect(one.posted.slice(1)).toEqual([{ type: 'abort', id: 1 }])
      expect(fate.is).toBe('open')
      one.says(done(1))
      await followed()
      expect(fate.is).toEqual(how === 'by return' ? { done: true, value: undefined } : { error: 'gone' })
      const ours = added!.mock.calls.at(-1)!.slice(0, 2)
      expect(removed!.mock.calls).toContainEqual(ours)
      expect(one.session.busy).toBe(false)
    },
  )

  it('is not asked for by who has left, and is left by who leaves as it is asked for', async () => {
    const early = line()
    const { next } = await begun(early, chat({ signal: AbortSignal.abort('gone') }))
    await expect(next).rejects.toBe('gone')
    expect(early.posted).toEqual([])
    const one = line()
    const leaving = new AbortController()
    const call = Object.defineProperty(chat({ signal: leaving.signal }), 'late', {
      enumerable: true,
      get: () => leaving.abort('gone'),
    })
    const late = await begun(one, call)
    expect(one.types()).toEqual(['generate', 'abort'])
    one.says(part(1, 'Hi'), done(1))
    await expect(late.next).rejects.toBe('gone')
  })
})

describe('an errand', () => {
  it('is done when it is done there, and its progress is heard', async () => {
    const one = line()
    const received: unknown[] = []
    const load = fateOf(one.session.question('load', 'a/b', never(), (progress) => received.push(progress)))
    const rest = (['unload', 'survey', 'close'] as const).map((type) => fateOf(one.session.question(type, 'a/b')))
    expect(one.posted).toEqual([
      { type: 'load', id: 1, model: 'a/b' },
      { type: 'unload', id: 2, model: 'a/b' },
      { type: 'survey', id: 3 },
      { type: 'close', id: 4 },
    ])
    const progress = { loaded: 1 }
    // Nobody listens to what else comes.
    one.says({ type: 'progress', id: 1, progress }, { type: 'progress', id: 2, progress: {} })
    one.says(part(1, 'x'), { type: 'value', id: 1, value: 1 })
    one.says(done(1), done(2), failed(3, 'broken'))
    await followed()
    expect(received).toEqual([progress])
    expect([load.is, rest[0]!.is, rest[2]!.is]).toEqual([undefined, undefined, 'open'])
    expect(rest[1]!.is).toMatchObject({ error: { name: 'E', message: 'broken' } })
    expect(one.busy).toEqual([true])
    one.says(done(4))
    expect(one.busy).toEqual([true, false])
  })

  it('is left at once, and the other side hears of it', async () => {
    const one = line()
    const leaving = new AbortController()
    const left = fateOf(one.session.question('load', 'a/b', leaving.signal))
    leaving.abort('gone')
    await followed()
    expect([left.is, one.types()]).toEqual([{ error: 'gone' }, ['load', 'abort']])
    expect(one.session.busy).toBe(true)
    const before = fateOf(one.session.question('learn', 'a/b', leaving.signal))
    await followed()
    expect([before.is, one.posted.slice(2)]).toEqual([
      { error: 'gone' },
      [
        { type: 'learn', id: 2, model: 'a/b' },
        { type: 'abort', id: 2 },
      ],
    ])
  })
})

describe('what has one result', () => {
  const requestOf = (part: object = {}) => ({ model: 'a/b', signal: never(), inputs: ['x'], ...part })

  it('is what was told before it was done', async () => {
    const one = line()
    const given = fateOf(one.session.value('embed', requestOf()))
    await followed()
    const rest = { model: 'a/b', inputs: ['x'] }
    const call = { about: { model: 'a/b' }, rest, grammars: {}, spelled: {} }
    expect(one.posted).toEqual([{ type: 'value', id: 1, what: 'embed', call }])
    one.says({ type: 'value', id: 1, value: 7 })
    await followed()
    expect(given.is).toBe('open')
    one.says(done(1))
    await followed()
    expect(given.is).toBe(7)
    const other = fateOf(one.session.value('decide', requestOf()))
    await followed()
    one.says(failed(2, 'broken'))
    await followed()
    expect(other.is).toMatchObject({ error: { message: 'broken' } })
  })

  it('has its lists in pieces, each told to be here once others have had their turn', async () => {
    const one = line()
    const given = fateOf(one.session.value('tokenize', requestOf()))
    await followed()
    const piece = (list: string, ...items: unknown[]) => ({ type: 'piece', id: 1, list, items })
    one.says(piece('tokens', 1, 2))
    expect(one.types()).toEqual(['value'])
    await breathe()
    expect(one.posted.slice(1)).toEqual([{ type: 'got', id: 1 }])
    one.says(piece('tokens', 3), piece('texts', 'a'))
    one.says({ type: 'value', id: 1, value: { texts: [], model: 'm' } }, done(1))
    await followed()
    expect(given.is).toEqual({ tokens: [1, 2, 3], texts: ['a'], model: 'm' })
  })

  it('and each part of an answer has those that came before it', async () => {
    const one = line()
    const { answer, next } = await begun(one)
    one.says({ type: 'piece', id: 1, list: 'tokens', items: [5] }, part(1, 'Hi'), part(1, ' you'), done(1))
    expect((await next).value).toEqual({ ...text('Hi'), tokens: [5] })
    expect((await answer.next()).value).toEqual(text(' you'))
  })

  it('that is left is over once the other side has noticed, whatever came of it there', async () => {
    for (const end of [done(1), failed(1, 'broken')]) {
      const one = line()
      const leaving = new AbortController()
      const added = vi.spyOn(leaving.signal, 'addEventListener')
      const removed = vi.spyOn(leaving.signal, 'removeEventListener')
      const left = fateOf(one.session.value('embed', requestOf({ signal: leaving.signal })))
      await followed()
      leaving.abort('gone')
      await followed()
      expect([left.is, one.types()]).toEqual(['open', ['value', 'abort']])
      one.says({ type: 'value', id: 1, value: 7 }, end)
      await followed()
      expect(left.is).toEqual({ error: 'gone' })
      expect(added.mock.calls.at(-1)).toEqual(['abort', expect.any(Function), { once: true }])
      expect(removed.mock.calls).toContainEqual(added.mock.calls.at(-1)!.slice(0, 2))
    }
  })
})

describe('the line', () => {
  it('tells which models there are, and nothing of what nobody has asked for or nobody knows', async () => {
    const one = line()
    const models = [{ id: 'a/b' }] as ModelInfo[]
    one.says({ type: 'models', models, ready: true }, { type: 'news' })
    expect(one.modelLists).toEqual([[models, true]])
    one.says(part(9, 'x'), { type: 'progress', id: 9, progress: {} }, { type: 'value', id: 9, value: 1 }, done(9))
    one.says({ type: 'piece', id: 9, list: 'tokens', items: [1] }, failed(9, 'x'))
    await breathe()
    expect([one.posted, one.busy]).toEqual([[], []])
  })

  it('lets so many come to their end in a turn, and all that comes behind them wait', async () => {
    const one = line()
    let over = 0
    for (let i = 0; i < 50; i++) void one.session.question('load', 'a/b').then(() => over++)
    one.says(...Array.from({ length: 49 }, (_, i) => done(i + 1)))
    one.says({ type: 'models', models: [], ready: false })
    const counts: number[] = []
    const reported: number[] = []
    for (let i = 0; i < 4; i++) {
      await followed()
      counts.push(over)
      reported.push(one.modelLists.length)
      await breathe()
    }
    expect([counts, reported]).toEqual([
      [16, 32, 48, 49],
      [0, 0, 0, 1],
    ])
    one.says(done(50))
    await followed()
    expect([over, one.busy]).toEqual([50, [true, false]])
  })

  it('that is broken fails what runs, each with its error, and whatever is asked from then on', async () => {
    const one = line()
    const { next } = await begun(one)
    const leaving = new AbortController()
    const [answer, errand] = [
      fateOf(next),
      fateOf(one.session.value('embed', { model: 'a/b', signal: leaving.signal })),
    ]
    await followed()
    one.session.die((job) => new Error(`lost ${job}`))
    // Nobody is there to hear of it.
    leaving.abort('gone')
    await followed()
    expect([answer.is, errand.is]).toEqual([{ error: new Error('lost 1') }, { error: 'gone' }])
    expect([one.session.busy, one.isClosed(), one.busy]).toEqual([false, true, [true, false]])
    // The first reason stays.
    one.session.die(() => new Error('other'))
    await expect(one.session.question('load', 'a/b')).rejects.toThrow('lost 3')
    const more = await begun(one)
    await expect(more.next).rejects.toThrow('lost 4')
    expect(one.types()).toEqual(['generate', 'value'])
  })

  it('has nothing under way that could not be sent', async () => {
    const one = line()
    one.port.post = () => {
      throw new Error('cannot be cloned')
    }
    await expect(one.session.question('load', 'a/b')).rejects.toThrow('cannot be cloned')
    expect([one.session.busy, one.busy]).toEqual([false, []])
  })
})

describe('who the other side is at', () => {
  it('is whom it names, by the request or the model', async () => {
    const one = line()
    expect(one.session.culprit(undefined)).toBeUndefined()
    for (const id of ['r1', 'r2']) await begun(one, chat({ id, model: `of/${id}` }))
    void one.session.value('embed', { model: 'e/f', signal: never() })
    await followed()
    void one.session.question('unload', 'r1')
    const named = (of: string) => one.session.culprit({ stage: 'prompt', of })
    expect(named('r2')).toEqual({ id: 2, words: 'an answer of of/r2, request r2' })
    expect(named('of/r1')).toEqual({ id: 1, words: 'an answer of of/r1, request r1' })
    expect(named('e/f')).toEqual({ id: 3, words: 'embed of e/f' })
    // A request goes before a model of the same name.
    expect(named('r1')).toEqual({ id: 1, words: 'an answer of of/r1, request r1' })
    expect([named('other'), one.session.culprit(undefined)]).toEqual([undefined, undefined])
    void one.session.question('load', 'g/h')
    for (const doing of [undefined, { stage: 'prompt', of: 'other' } as const])
      expect(one.session.culprit(doing)).toEqual({ id: 5, words: 'load of g/h' })
  })

  it('is whoever is alone there', () => {
    const one = line()
    void one.session.question('survey', '')
    expect(one.session.culprit(undefined)).toEqual({ id: 1, words: 'survey' })
  })
})
