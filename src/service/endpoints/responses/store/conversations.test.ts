import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LEAVE_MS } from '../../../stream/abort.js'
import { type Answer, errorOf, jsonOf, MODEL, oneTurn, serviceOf } from '../../../v1.test-helper.js'
import { Conversations } from './conversations.js'
import { memoryResponses } from './shelved.js'
import type { ConversationStore, KeptConversation } from './store.js'

const LIMIT_MS = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

async function turns(): Promise<void> {
  for (let i = 0; i < 50; i++) {
    await vi.advanceTimersByTimeAsync(0)
    await oneTurn()
  }
}

type Act = keyof ConversationStore

/** A service whose store does not answer what it is asked next, once `hang` is called. */
async function talking() {
  const store = memoryResponses()
  const conversations = store.conversations!
  let hangs: Act | undefined
  let before = 0
  let late: ((settles: boolean) => unknown) | undefined
  const told = <T>(name: Act, act: () => Promise<T>): Promise<T> => {
    if (name !== hangs || before-- > 0) return act()
    hangs = undefined
    return new Promise((resolve, reject) => {
      late = (settles) => act().then(settles ? resolve : () => {}, reject)
    })
  }
  const responses = {
    ...store,
    put: (...given: Parameters<typeof store.put>) => store.put(...given),
    get: (...given: Parameters<typeof store.get>) => store.get(...given),
    items: (...given: Parameters<typeof store.items>) => store.items(...given),
    delete: (...given: Parameters<typeof store.delete>) => store.delete(...given),
    conversations: {
      put: (...given: Parameters<ConversationStore['put']>) => told('put', () => conversations.put(...given)),
      get: (...given: Parameters<ConversationStore['get']>) => told('get', () => conversations.get(...given)),
      delete: (...given: Parameters<ConversationStore['delete']>) =>
        told('delete', () => conversations.delete(...given)),
    },
  }
  const logged: string[] = []
  const { ask } = serviceOf('So.', {
    responses,
    timeoutMs: LIMIT_MS,
    log: (event) => event.type === 'fault' && logged.push(event.message),
  })
  const post = (path: string, body: object) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  const add = (word: string) => post(`/conversations/${id}/items`, { items: [{ role: 'user', content: word }] })
  const words = async () => {
    const { data } = jsonOf(await ask(`/conversations/${id}/items?order=asc`))
    return data.map((item: { content: { text: string }[] }) => item.content[0]!.text)
  }
  const begun = post('/conversations', { items: [{ role: 'user', content: 'first' }] })
  await turns()
  const id = jsonOf(await begun).id as string
  return {
    path: `/conversations/${id}`,
    ...{ ask, add, words, logged },
    respond: (input: string) => post('/responses', { model: MODEL, input, conversation: id }),
    /** Asks what the store does not answer the first time, or after so many, which the time limit ends. */
    async hanging(act: Act, asked: () => Promise<Answer>, times = 0): Promise<Answer> {
      hangs = act
      before = times
      const answer = asked()
      await turns()
      expect(late).toBeDefined()
      await vi.advanceTimersByTimeAsync(LIMIT_MS)
      await turns()
      await vi.advanceTimersByTimeAsync(LEAVE_MS)
      await turns()
      return answer
    },
    async settles(asked: Promise<Answer>): Promise<Answer> {
      await turns()
      await vi.advanceTimersByTimeAsync(LIMIT_MS)
      return asked
    },
    async comesLate(settles = true): Promise<void> {
      late!(settles)
      await turns()
    },
  }
}

describe('a store that does not settle keeps no later change from a conversation', () => {
  test.each(['get', 'put'] as const)('%s, and what comes late takes nothing back', async (act) => {
    const { add, hanging, settles, comesLate, words } = await talking()
    expect(errorOf(await hanging(act, () => add('late')))).toMatchObject({ status: 504 })
    expect((await settles(add('second'))).status).toBe(200)
    expect(await words()).toEqual(['first', 'second'])
    await comesLate()
    expect(await words()).toEqual(['first', 'second'])
    expect((await settles(add('third'))).status).toBe(200)
    expect(await words()).toEqual(['first', 'second', 'third'])
  })

  test('what comes late stays where nothing was changed since', async () => {
    const { add, hanging, settles, comesLate, words } = await talking()
    await hanging('put', () => add('late'))
    await comesLate()
    expect((await settles(add('second'))).status).toBe(200)
    expect(await words()).toEqual(['first', 'late', 'second'])
  })

  test('what comes late and never says so gives way to what was changed since', async () => {
    const { add, hanging, settles, comesLate, words } = await talking()
    await hanging('put', () => add('late'))
    await settles(add('second'))
    await comesLate(false)
    expect(await words()).toEqual(['first', 'second'])
    expect((await settles(add('third'))).status).toBe(200)
    expect(await words()).toEqual(['first', 'second', 'third'])
  })

  test('what was deleted stays so', async () => {
    const { ask, path, add, hanging, settles, comesLate } = await talking()
    await hanging('put', () => add('late'))
    expect((await settles(ask(path, { method: 'DELETE' }))).status).toBe(200)
    await comesLate()
    expect((await ask(path)).status).toBe(404)
  })

  test('what was not deleted in time is there if it was changed since', async () => {
    const { ask, path, add, hanging, settles, comesLate, words } = await talking()
    expect(errorOf(await hanging('delete', () => ask(path, { method: 'DELETE' })))).toMatchObject({ status: 504 })
    expect((await settles(add('second'))).status).toBe(200)
    await comesLate()
    expect(await words()).toEqual(['first', 'second'])
  })

  test.each([
    // Before it answers it reads what was said.
    ['get', 1],
    ['put', 0],
  ] as const)('nor a later answer, which is part of it: %s', async (act, before) => {
    const { respond, hanging, settles, comesLate, words, logged } = await talking()
    expect((await hanging(act, () => respond('late'), before)).status).toBe(200)
    expect(logged).toEqual([expect.stringContaining('could not be stored')])
    expect((await settles(respond('second'))).status).toBe(200)
    await comesLate()
    expect(await words()).toEqual(['first', 'second', 'So.'])
    expect(logged).toHaveLength(1)
  })

  test('who waits keeps its place until the time is up for the one before', async () => {
    const { add, hanging, settles, words } = await talking()
    const waiting: Promise<Answer>[] = []
    await hanging('put', () => {
      const one = add('late')
      for (const word of ['second', 'third']) waiting.push(add(word))
      return one
    })
    for (const one of waiting) expect(errorOf(await one)).toMatchObject({ status: 504 })
    expect((await settles(add('fourth'))).status).toBe(200)
    expect(await words()).toEqual(['first', 'fourth'])
  })
})

describe('of a store that one change waits for', () => {
  const { signal } = new AbortController()
  const me = { caller: 'me' }
  const kept: KeptConversation = {
    ...me,
    conversation: { id: 'conv_1', object: 'conversation', created_at: 1, metadata: {} },
    items: [],
    changedAt: Math.floor(Date.now() / 1000),
  }
  const named = (word: string) => ({ ...kept, conversation: { ...kept.conversation, metadata: { word } } })

  /** Each write waits until it is let through, and settles once it is told to. */
  async function waiting() {
    const store = memoryResponses().conversations!
    await store.put(kept)
    const writes: { apply(): Promise<unknown>; settle(): void; fail(error: Error): void }[] = []
    const held = <T>(act: () => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        let done: Promise<T> | undefined
        const apply = () => (done ??= act())
        writes.push({ apply, settle: () => resolve(apply()), fail: reject })
      })
    const own: ConversationStore = {
      put: (...given) => held(() => store.put(...given)),
      get: (...given) => store.get(...given),
      delete: (...given) => held(() => store.delete(...given)),
    }
    const lost: unknown[] = []
    const conversations = new Conversations(own, (...what) => lost.push(what))
    const change = (word: string, signal: AbortSignal) =>
      conversations.change(me, kept.conversation.id, () => named(word), { signal })
    /** A change that is given up before the store has settled. */
    const left = async (word: string) => {
      const leaving = new AbortController()
      void change(word, leaving.signal)
      await turns()
      leaving.abort()
      await turns()
      await vi.advanceTimersByTimeAsync(LEAVE_MS)
      await turns()
    }
    await left('late')
    /** A second change, which the store does not keep waiting. */
    const written = async () => {
      const second = change('second', signal)
      await turns()
      writes[1]!.settle()
      await second
    }
    const word = async () => (await store.get(me, kept.conversation.id))?.conversation.metadata.word
    return { conversations, change, left, written, writes, word, lost }
  }

  test('what it writes while another writes gives way to that', async () => {
    const { change, writes, word } = await waiting()
    const second = change('second', signal)
    await turns()
    await writes[1]!.apply()
    writes[0]!.settle()
    await turns()
    expect(await word()).toBe('late')
    writes[1]!.settle()
    await second
    await turns()
    writes[2]?.settle()
    await turns()
    expect(await word()).toBe('second')
  })

  test('who may not delete it takes back nothing of whose it is', async () => {
    const { conversations, written, writes, word } = await waiting()
    await written()
    const others = conversations.delete({ caller: 'another' }, kept.conversation.id, signal)
    await turns()
    writes[2]!.settle()
    expect(await others).toBe(false)
    writes[0]!.settle()
    await turns()
    writes[3]!.settle()
    await turns()
    expect(await word()).toBe('second')
  })

  test('what is written once more takes back nothing either, however late it comes', async () => {
    const { change, written, writes, word } = await waiting()
    await written()
    writes[0]!.settle()
    await turns()
    await vi.advanceTimersByTimeAsync(LEAVE_MS)
    await turns()
    const third = change('third', signal)
    await turns()
    writes[3]!.settle()
    await third
    writes[2]!.settle()
    await turns()
    writes[4]?.settle()
    await turns()
    expect(await word()).toBe('third')
    expect(writes).toHaveLength(5)
  })

  test.each<[string, readonly number[]]>([
    ['after an older one', [0, 1]],
    ['before an older one', [1, 0]],
    ['around an older one', [0, 1]],
  ])('of two that it kept waiting the newer one stays, which settles %s', async (how, order) => {
    const { left, writes, word } = await waiting()
    await left('newer')
    if (how.startsWith('around')) await writes[1]!.apply()
    for (const each of order) {
      writes[each]!.settle()
      await turns()
      for (const again of writes.slice(2)) again.settle()
      await turns()
    }
    expect(await word()).toBe('newer')
  })

  test('what settles late gives way to nothing that was written before it', async () => {
    const { left, written, writes, word } = await waiting()
    await written()
    await left('newer')
    writes[2]!.settle()
    await turns()
    writes[3]?.settle()
    await turns()
    expect(await word()).toBe('newer')
    writes[0]!.settle()
    await turns()
    writes.at(-1)!.settle()
    await turns()
    expect(await word()).toBe('newer')
  })

  test('whoever runs it hears of what could not be written once more', async () => {
    const { written, writes, lost } = await waiting()
    await written()
    writes[0]!.settle()
    await turns()
    const full = new Error('The disk is full.')
    writes[2]!.fail(full)
    await turns()
    expect(lost).toEqual([['conv_1', full]])
  })
})
