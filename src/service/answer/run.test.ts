import { describe, expect, it } from 'vitest'
import type { ChatCall, Engine } from '../../contract/engine.js'
import { BEGIN_PER_TURN, breathe } from '../../platform/turns.js'
import { chatRequest, errorOf, eventsOf, MODEL, pause, serviceOf, text, until } from '../v1.test-helper.js'

/** An engine that ticks until it is stopped, or hangs, and counts. */
function ticking({ deaf = false, hang = false } = {}) {
  const seen = { steps: 0, active: 0, abortedFirst: false, listeners: 0, calls: [] as ChatCall[] }
  const engine: Engine = {
    models: [{ id: MODEL, ownedBy: 'me' }],
    async *generate(call) {
      seen.calls.push(call)
      seen.active++
      try {
        for (;;) {
          if (hang) await new Promise(() => {})
          await pause(1)
          if (!deaf) call.signal.throwIfAborted()
          seen.steps++
          yield text('tick ')
        }
      } finally {
        seen.abortedFirst = call.signal.aborted
        seen.active--
      }
    },
  }
  return { engine, seen }
}

describe('leaving', () => {
  it.each([false, true])(
    'cancels the engine: first the signal, then return (the engine ignores the signal: %s)',
    async (deaf) => {
      const { engine, seen } = ticking({ deaf })
      const { v1, chat } = serviceOf(engine, { maxInFlight: 1, maxQueue: 0 })
      const reader = (await v1.fetch(chatRequest({ stream: true }))).body!.getReader()
      await reader.read()
      expect(errorOf(await chat())).toMatchObject({ status: 429, code: 'queue_full' })
      await reader.cancel()
      await until(() => seen.active === 0)
      expect(seen.abortedFirst).toBe(true)
      await until(() => seen.active === 0)
      const next = await v1.fetch(chatRequest({ stream: true }))
      expect(next.status).toBe(200)
      await next.body!.cancel()
    },
  )

  it('stops the engine also while nobody reads', async () => {
    const { engine, seen } = ticking()
    const { v1 } = serviceOf(engine)
    const aborter = new AbortController()
    await v1.fetch(chatRequest({ stream: true }, { signal: aborter.signal }))
    expect(seen.active).toBe(1)
    aborter.abort()
    await until(() => seen.active === 0)
  })

  it('is written down in turns, however many leave at once', async () => {
    const { engine } = ticking()
    let recorded = 0
    const { v1, ask } = serviceOf(engine, { maxQueue: 100, onUsage: () => recorded++ })
    const aborter = new AbortController()
    const responses = Array.from({ length: 60 }, () => v1.fetch(chatRequest({}, { signal: aborter.signal })))
    const load = async () => JSON.parse((await ask('/load')).text).server_load
    while ((await load()) < responses.length) await breathe()
    aborter.abort()
    const inTurn = [recorded]
    for (let before = recorded; recorded < responses.length; before = recorded) {
      await breathe()
      inTurn.push(recorded - before)
    }
    expect(Math.max(...inTurn)).toBeLessThanOrEqual(BEGIN_PER_TURN)
    for (const answer of responses) expect((await answer).status).toBe(499)
  })

  it('lets go of the client and the clock', async () => {
    const { v1 } = serviceOf('Hi', { timeoutMs: 60_000 })
    const request = chatRequest({ stream: true })
    const added: unknown[] = []
    const removed: unknown[] = []
    const { signal } = request
    Object.defineProperty(request, 'signal', {
      value: Object.assign(Object.create(null), {
        get aborted() {
          return signal.aborted
        },
        addEventListener: (_: string, listener: unknown) => added.push(listener),
        removeEventListener: (_: string, listener: unknown) => removed.push(listener),
      }),
    })
    await (await v1.fetch(request)).text()
    expect(added).toHaveLength(1)
    expect(removed).toEqual(added)
  })

  it('frees the place for the next request even if the engine never stops', async () => {
    const { engine, seen } = ticking({ hang: true })
    const faults: unknown[] = []
    const { v1 } = serviceOf(engine, { maxInFlight: 1, timeoutMs: 20, log: (event) => faults.push(event) })
    expect((await v1.fetch(chatRequest())).status).toBe(504)
    // It waits in line for as long as the engine is given to stop, which is longer than its own time limit.
    expect((await v1.fetch(chatRequest())).status).toBe(504)
    await until(() => faults.some((event) => (event as { type: string }).type === 'fault'))
    void v1.fetch(chatRequest())
    await until(() => seen.calls.length === 2)
  })
})

describe('a slow reader', () => {
  it('slows the engine down', async () => {
    const { engine, seen } = ticking()
    const { v1 } = serviceOf(engine)
    const reader = (await v1.fetch(chatRequest({ stream: true }))).body!.getReader()
    await pause(30)
    expect(seen.steps).toBe(1)
    await reader.read()
    await pause(30)
    expect(seen.steps).toBe(1)
    // The second piece may gather several steps; those after it wait for the next read.
    await reader.read()
    await pause(30)
    const stood = seen.steps
    await pause(30)
    expect(seen.steps).toBe(stood)
    // One step may have been kept for the first of these.
    for (let i = 0; i < 2; i++) await reader.read()
    expect(seen.steps).toBeGreaterThan(stood)
    await reader.cancel()
  })
})

describe('a time limit', () => {
  it('is 504 before the first part, and an error event after it', async () => {
    const waiting = serviceOf([{ type: 'wait', ms: 60_000 }], { timeoutMs: 10 })
    const late = await waiting.chat()
    expect(errorOf(late)).toMatchObject({ status: 504, code: 'timeout' })
    expect(late.headers.get('x-should-retry')).toBe('false')
    const { chat } = serviceOf([text('a'), { type: 'wait', ms: 60_000 }], { timeoutMs: 20 })
    const { text: body } = await chat({ stream: true })
    expect(JSON.parse(eventsOf(body).at(-1)!).error).toMatchObject({ code: 'timeout' })
  })
})
