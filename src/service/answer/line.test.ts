import { afterEach, describe, expect, it, vi } from 'vitest'
import { countTurns } from '../../../test/support/count-turns.js'
import { type Engine, textOf } from '../../contract/engine.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { chatRequest, errorOf, finish, MODEL, oneTurn, pause, serviceOf, text, turnsUntil } from '../v1.test-helper.js'

/** An engine whose answers end when the test says so. */
function held() {
  const ends: (() => void)[] = []
  const begun: string[] = []
  const engine: Engine = {
    models: [
      { id: MODEL, ownedBy: 'me' },
      { id: 'test/other', ownedBy: 'me' },
    ],
    async *generate(call) {
      begun.push(textOf(call.messages[0]!.content))
      yield text('{}')
      await new Promise<void>((resolve) => {
        ends.push(resolve)
        call.signal.addEventListener('abort', () => resolve())
      })
      call.signal.throwIfAborted()
      yield finish()
    },
  }
  return { engine, ends, begun }
}

const asking = (name: string, schema?: object) => ({
  messages: [{ role: 'user', content: name }],
  ...(schema && { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } }),
})
const unknown = { type: 'nothing' }
const own = (name: string) => ({ type: 'object', properties: { [name]: {} }, additionalProperties: false })

describe('a request that needs work before it runs', () => {
  it('is accepted first: nothing is compiled for one that the queue refuses, or that still waits', async () => {
    const { engine, ends } = held()
    const { chat } = serviceOf(engine, { maxInFlight: 1, maxQueue: 1 })
    const first = chat(asking('first'))
    await turnsUntil(() => ends.length === 1)
    let answered = false
    const second = chat(asking('second', unknown)).finally(() => {
      answered = true
    })
    expect(errorOf(await chat(asking('third', unknown)))).toMatchObject({ status: 429, code: 'queue_full' })
    expect(answered).toBe(false)
    ends[0]!()
    expect((await first).status).toBe(200)
    expect(errorOf(await second)).toMatchObject({ status: 400, param: 'response_format' })
  })

  it('shares the event loop: in each turn only one compiles', async () => {
    const turns = countTurns()
    const at: number[] = []
    const engine: Engine = {
      models: [{ id: MODEL, ownedBy: 'me' }],
      async *generate() {
        at.push(turns.now)
        yield text('{}')
        yield finish()
      },
    }
    const { chat } = serviceOf(engine, { maxInFlight: 20 })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => chat(asking(`${i}`, own(`p${i}`)))))
    turns.over = true
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(new Set(at).size).toBe(20)
  })

  it('is compiled once, however many bring the same schema at the same time', async () => {
    const { engine, ends } = held()
    const { chat } = serviceOf(engine, { maxInFlight: 4 })
    let read = 0
    const schema = { ...own('p') }
    // Each request has its own copy from the wire: what is counted are the grammars that reach the engine.
    const grammars = new Set<unknown>()
    const { generate } = engine
    Object.assign(engine, {
      generate(call: Parameters<Engine['generate']>[0]) {
        read++
        grammars.add(call.grammar)
        return generate(call)
      },
    })
    const all = Array.from({ length: 4 }, () => chat(asking('same', schema)))
    await turnsUntil(() => ends.length === 4)
    for (const end of ends) end()
    await Promise.all(all)
    expect([read, grammars.size]).toEqual([4, 1])
  })

  it('stays compiled, however many bad ones come after it', async () => {
    const { engine, ends } = held()
    const { chat } = serviceOf(engine)
    const grammars = new Set<unknown>()
    const { generate } = engine
    Object.assign(engine, {
      generate(call: Parameters<Engine['generate']>[0]) {
        grammars.add(call.grammar)
        return generate(call)
      },
    })
    for (let round = 1; round <= 2; round++) {
      const good = chat(asking('good', own('kept')))
      await turnsUntil(() => ends.length === round)
      ends[round - 1]!()
      await good
      for (let i = 0; i < 70; i++) await chat(asking(`bad ${i}`, { type: `none ${i}` }))
    }
    expect(grammars.size).toBe(1)
  })

  it('gives its place away while its model loads', async () => {
    const { engine, ends, begun } = held()
    let loaded = () => {}
    const loading = new Promise<void>((resolve) => {
      loaded = resolve
    })
    const loads: string[] = []
    const load = (model: string) => {
      loads.push(model)
      return model === MODEL ? loading : Promise.resolve()
    }
    const { chat } = serviceOf({ ...engine, load }, { maxInFlight: 1 })
    const waits = chat(asking('waits'))
    await turnsUntil(() => loads.length === 1)
    const other = chat({ ...asking('other'), model: 'test/other' })
    await turnsUntil(() => ends.length === 1)
    loaded()
    ends[0]!()
    expect((await other).status).toBe(200)
    await turnsUntil(() => ends.length === 2)
    ends[1]!()
    expect((await waits).status).toBe(200)
    expect(begun).toEqual(['other', 'waits'])
  })
})

describe('the line', () => {
  it('is full when the bodies that wait in it are too large together', async () => {
    const { engine, ends } = held()
    const { chat } = serviceOf(engine, { maxInFlight: 1, bodyLimit: 1000, bodiesLimit: 2000 })
    const large = () => chat(asking('x'.repeat(800)))
    const answers = [large()]
    await turnsUntil(() => ends.length === 1)
    answers.push(large(), large())
    await oneTurn()
    expect(errorOf(await large())).toMatchObject({ status: 429, code: 'queue_full' })
    for (let i = 0; i < 3; i++) {
      await turnsUntil(() => ends.length === i + 1)
      ends[i]!()
      expect((await answers[i]!).status).toBe(200)
    }
  })
})

describe('those who wait for a model to be loaded', () => {
  it('hold no more bytes than the bodies that arrive may, those of others not counted, and none twice', async () => {
    const { engine, ends } = held()
    let loaded = () => {}
    const loading = new Promise<void>((resolve) => {
      loaded = resolve
    })
    const options = { maxInFlight: 4, bodyLimit: 1000, bodiesLimit: 2000, keys: ['one', 'two'] }
    const { chat } = serviceOf({ ...engine, load: () => loading }, options)
    const large = (key: string) => chat(asking('x'.repeat(800)), { headers: { authorization: `Bearer ${key}` } })
    const theirs = large('two')
    await pause(5)
    const mine: ReturnType<typeof large>[] = []
    // One after the other: all of each has come before the next does.
    for (let i = 0; i < 3; i++) {
      mine.push(large('one'))
      await pause(5)
    }
    for (const each of mine.slice(0, 2)) {
      expect(errorOf(await each)).toMatchObject({ status: 503, code: 'too_many_bodies' })
    }
    loaded()
    const late = large('one')
    await turnsUntil(() => ends.length === 3)
    for (const end of ends) end()
    for (const each of [theirs, mine[2]!, late]) expect((await each).status).toBe(200)
  })
})

describe('a client that has left', () => {
  it.each([
    ['in line', false, 0],
    ['on its way out of the line', true, 0],
    ['while its schema is compiled', true, 1],
  ])('nothing is computed for it: %s', async (_, letIn, turns) => {
    const { engine, ends, begun } = held()
    const { v1, chat } = serviceOf(engine, { maxInFlight: 1 })
    const first = chat(asking('first'))
    await turnsUntil(() => ends.length === 1)
    const aborter = new AbortController()
    const left = v1.fetch(chatRequest(asking('left', own('a')), { signal: aborter.signal }))
    await oneTurn()
    if (letIn) {
      ends[0]!()
      await first
      for (let i = 0; i < turns; i++) await oneTurn()
    }
    aborter.abort()
    expect((await left).status).toBe(499)
    ends[0]!()
    await first
    const last = chat(asking('last'))
    await turnsUntil(() => ends.length === 2)
    ends[1]!()
    expect((await last).status).toBe(200)
    expect(begun).toEqual(['first', 'last'])
  })
})

describe('limits of time that nobody set', () => {
  afterEach(() => void vi.useRealTimers())
  /** Turns of the event loop stay as they are. */
  const stopTheClock = () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })

  it('a stream that nobody reads is aborted after half a minute, and its place is free', async () => {
    stopTheClock()
    const { engine, ends } = held()
    const counted: UsageEvent[] = []
    const { v1, chat } = serviceOf(engine, { maxInFlight: 1, onUsage: (event) => counted.push(event) })
    const { body } = await v1.fetch(chatRequest({ ...asking('unread'), stream: true }))
    const next = chat(asking('next'))
    await vi.advanceTimersByTimeAsync(29_999)
    expect(counted).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    await turnsUntil(() => ends.length === 1)
    expect(counted).toMatchObject([{ outcome: 'aborted' }])
    await expect(body!.getReader().read()).rejects.toMatchObject({ code: 'stalled' })
    ends[0]!()
    expect((await next).status).toBe(200)
  })

  it('a request takes ten minutes at most', async () => {
    stopTheClock()
    const { engine, ends } = held()
    const { chat } = serviceOf(engine)
    const answer = chat(asking('long'))
    await turnsUntil(() => ends.length === 1)
    await vi.advanceTimersByTimeAsync(599_999)
    let answered = false
    void answer.finally(() => {
      answered = true
    })
    await oneTurn()
    expect(answered).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(errorOf(await answer)).toMatchObject({ status: 504, code: 'timeout' })
  })

  it('Infinity is no limit', async () => {
    stopTheClock()
    const { engine, ends } = held()
    const never = Number.POSITIVE_INFINITY
    const { v1 } = serviceOf(engine, { timeoutMs: never, stallMs: never })
    const { body } = await v1.fetch(chatRequest({ ...asking('slow'), stream: true }))
    await vi.advanceTimersByTimeAsync(1e9)
    const whole = new Response(body).text()
    await turnsUntil(() => ends.length === 1)
    await vi.advanceTimersByTimeAsync(1e9)
    ends[0]!()
    await oneTurn()
    await vi.advanceTimersByTimeAsync(10)
    expect(await whole).toContain('[DONE]')
  })
})
