import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ChatCall, Part } from '../../contract/engine.js'
import { V1Error } from '../../contract/errors.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { Deadlines, LEAVE_MS } from '../stream/abort.js'
import { Answer } from '../wire/reply.js'
import { Bodies } from './bodies.js'
import { Run, timedOut } from './run.js'
import type { Exchange, Service } from './service.js'

const USAGE = { promptTokens: 5, completionTokens: 3, cachedTokens: 2 }
const CALL = { n: 1, model: 'a/b', signal: new AbortController().signal } as ChatCall
const text = (content: string): Part => ({ type: 'text-delta', choice: 0, text: content })
const finish: Part = { type: 'finish', choice: 0, reason: 'stop' }
const usage = (fingerprint?: string): Part => ({ type: 'usage', usage: USAGE, ...(fingerprint && { fingerprint }) })

/** A run, and all that is seen of it in the order in which it happens. */
function runOf(
  parts: Iterable<Part> | (() => AsyncIterable<Part>) = [text('Hi'), usage('fp'), finish],
  part: object = {},
) {
  const steps: string[] = []
  const events: UsageEvent[] = []
  const ends: [number, object | undefined][] = []
  const logged: { message: string; error?: unknown }[] = []
  const client = new AbortController()
  const fingerprints = new Map<string, string>()
  const room = { bytes: 0, onGivenUp: undefined as ((error: unknown) => void) | undefined }
  const began: number[] = []
  const service = {
    deadlines: new Deadlines(undefined, () => undefined),
    patience: new Deadlines(LEAVE_MS, () => undefined),
    admission: {
      running: 2,
      enter: (caller: string, signal: AbortSignal, request: object) => {
        steps.push(`enter ${caller} ${JSON.stringify(request)}`)
        expect(signal).toBe(run.signal)
        return () => void steps.push('release')
      },
    },
    bodies: {
      begin: (caller: string) => {
        steps.push(`hold for ${caller}`)
        return Object.assign(room, {
          hold: (bytes: number) => {
            room.bytes = bytes
          },
          done: () => void steps.push('room'),
        })
      },
    },
    engine: {
      generate: async function* () {
        try {
          yield* typeof parts === 'function' ? parts() : parts
        } finally {
          steps.push(`engine ends${run.signal.aborted ? ', aborted' : ''}`)
        }
      },
    },
    metrics: { began: (seconds: number) => began.push(seconds) },
    ledger: {
      record: (event: UsageEvent) => {
        steps.push(`record ${event.outcome}`)
        events.push(event)
      },
    },
    fingerprints,
    log: (event: { message: string; error?: unknown }) => logged.push(event),
    ...part,
  } as unknown as Service
  const exchange = {
    request: { signal: client.signal },
    requestId: 'req_1',
    caller: { id: 'me' },
    project: 'p',
    end: (status: number, details?: object) => {
      steps.push(`end ${status}`)
      ends.push([status, details])
    },
  } as unknown as Exchange
  const run: Run = new Run(service, exchange)
  return { run, steps, events, ends, logged, client, fingerprints, room, began, exchange }
}

async function whole(run: Run): Promise<string> {
  let text = ''
  for (let part = await run.next(); part; part = await run.next()) if (part.type === 'text-delta') text += part.text
  return text
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 1))

describe('a run', () => {
  it('has its place, says its parts, is counted, and gives back what it held, in this order', async () => {
    const { run, steps, events, ends, fingerprints, room, began } = runOf()
    run.model = 'a/b'
    await run.enter(3)
    run.hold(10)
    run.hold(5)
    expect(room.bytes).toBe(15)
    run.begin(CALL, () => {})
    expect(await whole(run)).toBe('Hi')
    expect(steps.filter((step) => step === 'room')).toHaveLength(1)
    await run.succeed()
    await run.succeed()
    expect(steps.filter((step) => step !== 'room')).toEqual([
      ...['enter me {"bytes":0,"weight":3}', 'hold for me', 'engine ends', 'record ok', 'release', 'end 200'],
    ])
    expect(events).toEqual([
      {
        ...{ time: expect.any(Number), requestId: 'req_1', caller: 'me', project: 'p', model: 'a/b', outcome: 'ok' },
        ...USAGE,
      },
    ])
    expect(Math.abs(events[0]!.time - Date.now() / 1000)).toBeLessThan(60)
    expect(ends).toEqual([[200, { model: 'a/b', usage: USAGE }]])
    expect([...fingerprints]).toEqual([['a/b', 'fp']])
    expect([began.length, began[0]! >= 0 && began[0]! < 60]).toEqual([1, true])
    expect(run.signal.aborted).toBe(false)
    // From here on its client may leave.
    expect(await run.fail(new Error('late'))).toMatchObject({ status: 500 })
    expect(steps.at(-1)).toBe('end 200')
  })

  it('counts as one, and by the bytes of its body, where nothing else is said', async () => {
    const { run, steps, exchange } = runOf()
    exchange.bodyBytes = 7
    await run.enter()
    expect(steps).toEqual(['enter me {"bytes":7,"weight":1}'])
  })

  it('steps aside and enters again, and gives its place back once', async () => {
    const { run, steps } = runOf()
    const given = () => steps.filter((step) => step === 'release').length
    run.stepAside()
    await run.enter()
    expect(given()).toBe(0)
    run.stepAside()
    run.stepAside()
    expect(given()).toBe(1)
    await run.enter()
    await run.fail(new Error('x'))
    await settled()
    expect(given()).toBe(2)
  })

  it('holds its body while it stands aside, once, and none where it has none', async () => {
    const { run, steps, exchange, room } = runOf()
    run.stepAside()
    await run.enter()
    expect(steps.filter((step) => step.startsWith('hold'))).toEqual([])
    exchange.bodyBytes = 7
    for (let twice = 0; twice < 2; twice++) {
      run.stepAside()
      run.stepAside()
      expect(room.bytes).toBe(7)
      await run.enter()
      expect(room.bytes).toBe(0)
    }
  })

  it('that was left on its way in gives its place to the next at once, and begins nothing', async () => {
    const { run, steps, client } = runOf([], {
      admission: {
        enter: async () => {
          client.abort('gone')
          return () => void steps.push('release')
        },
      },
    })
    await expect(run.enter()).rejects.toBe('gone')
    expect(steps).toContain('release')
    // One who leaves in the same turn of the event loop is heard of, too.
    const other = runOf()
    const entering = other.run.enter()
    setImmediate(() => other.client.abort('later'))
    await expect(entering).rejects.toBe('later')
    await settled()
    expect(other.steps).toContain('release')
  })

  it('that is given its place when it is over gives it to the next', async () => {
    const steps: string[] = []
    let give = (_: () => void) => {}
    const admission = { running: 2, enter: () => new Promise<() => void>((resolve) => (give = resolve)) }
    const { run } = runOf([], { admission })
    const entering = run.enter()
    await run.fail('gone')
    await settled()
    give(() => void steps.push('release'))
    await expect(entering).rejects.toBe('gone')
    expect(steps).toEqual(['release'])
  })

  it('that is alone begins at once, and gives its place back all the same', async () => {
    const steps: string[] = []
    const admission = { running: 1, enter: () => () => void steps.push('release') }
    const { run } = runOf([], { admission } as unknown as Partial<Service>)
    expect(run.enter()).toBeUndefined()
    await run.fail(new Error('gone'))
    await settled()
    expect(steps).toEqual(['release'])
  })

  it('that one thing comes of has no parts, and may be measured by nobody', async () => {
    const { run, ends } = runOf([], { metrics: undefined })
    run.answer = new Answer(0)
    await run.succeed()
    expect(ends).toMatchObject([[200, {}]])
    const other = runOf([finish], { metrics: undefined })
    other.run.begin(CALL, () => {})
    await whole(other.run)
    expect(other.run.answer!.finished).toBe(true)
  })

  it('is measured from when it arrived until the engine has read what it was given', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      vi.advanceTimersByTime(1000)
      const { run, began } = runOf()
      vi.advanceTimersByTime(1500)
      run.begin(CALL, () => {})
      await whole(run)
      expect(began).toEqual([1.5])
    } finally {
      vi.useRealTimers()
    }
  })

  it('that is not counted has no model, and leaves none behind', async () => {
    const { run, events, ends, fingerprints } = runOf([text('Hi'), finish])
    run.begin(CALL, () => {})
    await whole(run)
    await run.succeed()
    expect([events, [...fingerprints]]).toEqual([[], []])
    expect(ends[0]).toMatchObject([200, { model: undefined }])
  })
})

describe('parts of a run', () => {
  it('are checked where a choice ends, before anybody hears of it', async () => {
    const checked: string[] = []
    const { run } = runOf()
    run.begin(CALL, ({ text: content, finish: reason }) => void checked.push(`${content} ${reason}`))
    await run.next()
    await run.next()
    expect(checked).toEqual([])
    await run.next()
    expect(checked).toEqual(['Hi stop'])
    expect(run.answer!.finished).toBe(true)
  })

  it.each([
    ['at once', () => Promise.resolve(), undefined],
    [
      'at once, refused',
      () => {
        throw new Error('wrong')
      },
      'wrong',
    ],
    ['later', () => new Promise<void>((resolve) => setImmediate(resolve)), undefined],
    ['later, refused', () => Promise.reject(new Error('wrong')), 'wrong'],
  ])('are told when they have been checked: %s', async (_, check, message) => {
    const { run } = runOf([finish])
    run.begin(CALL, check)
    const next = run.next()
    if (message) await expect(next).rejects.toThrow(message)
    else expect(await next).toEqual(finish)
  })

  it('that end too soon, or come out of turn, are the engine’s fault', async () => {
    const short = runOf([text('Hi')])
    short.run.begin(CALL, () => {})
    await short.run.next()
    await expect(short.run.next()).rejects.toThrow('The engine stopped before it had finished every choice.')
    const more = runOf([finish, text('Hi')])
    more.run.begin(CALL, () => {})
    await more.run.next()
    await expect(more.run.next()).rejects.toThrow('out of turn')
    const none = runOf([finish])
    none.run.begin(CALL, () => {})
    await none.run.next()
    expect(await none.run.next()).toBeUndefined()
  })

  it('of several prompts are those of one answer, and its usage is all of theirs', async () => {
    const requests: unknown[] = []
    const thought = { ...USAGE, reasoningTokens: 2 }
    const engine = {
      generate: async function* (call: ChatCall): AsyncIterable<Part> {
        requests.push(call.prompt)
        yield text(`${call.prompt}`)
        yield finish
        yield call.prompt === 'two' ? { type: 'usage', usage: thought, fingerprint: 'fp' } : usage()
      },
    }
    const { run } = runOf([], { engine })
    run.begin({ ...CALL, n: 3 }, () => {}, ['one', 'two', 'three'])
    await whole(run)
    const texts = run.answer!.choices.map(({ text: content }) => content)
    expect([requests, texts]).toEqual([
      ['one', 'two', 'three'],
      ['one', 'two', 'three'],
    ])
    const all = { promptTokens: 15, completionTokens: 9, cachedTokens: 6, reasoningTokens: 2 }
    expect([run.answer!.usage, run.answer!.fingerprint]).toEqual([all, 'fp'])
    const plain = runOf([], { engine })
    plain.run.begin({ ...CALL, n: 2 }, () => {}, ['one', 'three'])
    let last: Part | undefined
    for (let part = await plain.run.next(); part; part = await plain.run.next()) last = part
    const both = { promptTokens: 10, completionTokens: 6, cachedTokens: 4 }
    // What no engine has said is in no part of it.
    expect(last).toStrictEqual({ type: 'usage', usage: both })
    expect(plain.run.answer!.usage).toEqual(both)
  })

  it.each([
    [1, 16],
    [3, 5],
    [20, 1],
  ])('of many prompts are each in their place: of %i answers each, %i prompts at a time', async (n, most) => {
    const prompts = Array.from({ length: 20 }, (_, i) => `p${i}`)
    const [received, counts]: [unknown[], number[]] = [[], []]
    let running = 0
    const engine = {
      generate: async function* (call: ChatCall): AsyncIterable<Part> {
        received.push(call.prompt)
        counts.push(++running)
        await settled()
        yield { type: 'prompt', tokens: [Number(`${call.prompt}`.slice(1))] }
        for (let choice = 0; choice < call.n; choice++) {
          yield { type: 'text-delta', choice, text: `${call.prompt}/${choice}` }
          yield { type: 'finish', choice, reason: 'stop' }
        }
        running--
      },
    }
    const { run } = runOf([], { engine })
    run.begin({ ...CALL, n: 20 * n }, () => {}, prompts)
    await whole(run)
    expect(received).toEqual(prompts)
    expect(Math.max(...counts)).toBe(most)
    const { choices, prompts: tokens } = run.answer!
    expect(choices.map(({ text: content }) => content)).toEqual(
      prompts.flatMap((prompt) => Array.from({ length: n }, (_, choice) => `${prompt}/${choice}`)),
    )
    expect(prompts.map((_, i) => tokens[i * n])).toEqual(prompts.map((_, i) => [i]))
  })

  it('of several prompts are stopped where one fails, also those that say nothing meanwhile', async () => {
    const stopped: unknown[] = []
    const engine = {
      generate: async function* ({ prompt, signal }: ChatCall): AsyncIterable<Part> {
        yield text('Hi')
        if (prompt === 'bad') throw new Error('broken')
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        stopped.push(prompt)
      },
    }
    const { run } = runOf([], { engine })
    run.begin({ ...CALL, n: 3 }, () => {}, ['one', 'two', 'bad'])
    await expect(whole(run)).rejects.toThrow('broken')
    expect(stopped).toEqual(['one', 'two'])
  })

  it('of a prompt are in no place of another’s', async () => {
    const engine = {
      generate: async function* (call: ChatCall): AsyncIterable<Part> {
        yield { type: 'text-delta', choice: call.prompt === 'one' ? 1 : 0, text: `${call.prompt}` }
        yield finish
      },
    }
    const { run } = runOf([], { engine })
    run.begin({ ...CALL, n: 2 }, () => {}, ['one', 'two'])
    await expect(whole(run)).rejects.toThrow('choice 1 of 1')
  })

  it('of many prompts hear by signals of their own that nobody waits, those too that begin later', async () => {
    const client = new AbortController()
    const listens = vi.spyOn(client.signal, 'addEventListener')
    const removes = vi.spyOn(client.signal, 'removeEventListener')
    const received: unknown[] = []
    const engine = {
      async *generate({ signal, prompt }: ChatCall): AsyncIterable<Part> {
        expect(signal).not.toBe(client.signal)
        if (prompt !== 'p0') await new Promise((resolve) => signal.addEventListener('abort', resolve))
        else client.abort('left')
        received.push(signal.reason)
        yield text('gone')
      },
    }
    const { run } = runOf([], { engine })
    const prompts = Array.from({ length: 14 }, (_, i) => `p${13 - i}`)
    run.begin({ ...CALL, n: 14, signal: client.signal }, () => {}, prompts)
    await expect(whole(run)).rejects.toThrow()
    await vi.waitFor(() => expect(received).toEqual(Array(14).fill('left')))
    // Node warns of a signal that more than ten listen to.
    expect(listens).toHaveBeenCalledTimes(1)
    expect(removes.mock.calls).toEqual(listens.mock.calls)
    received.length = 0
    const late = runOf([], { engine })
    late.run.begin({ ...CALL, n: 1, signal: client.signal }, () => {}, ['p0'])
    await expect(whole(late.run)).rejects.toThrow()
    expect(received).toEqual(['left'])
  })

  it('of many prompts are not all waited for anew for each part of one', async () => {
    let first!: () => void
    const waited = new Promise<void>((resolve) => (first = resolve))
    const engine = {
      async *generate({ prompt }: ChatCall): AsyncIterable<Part> {
        if (prompt === 'p0') for (let i = 0; i < 500; i++) yield text('a')
        else await waited
        yield finish
        first()
      },
    }
    const { run } = runOf([], { engine })
    run.begin(
      { ...CALL, n: 16 },
      () => {},
      Array.from({ length: 16 }, (_, i) => `p${i}`),
    )
    let waits = 0
    const { race } = Promise
    vi.spyOn(Promise, 'race').mockImplementation((all) => {
      const list = [...all]
      waits += list.length
      return race.call(Promise, list)
    })
    await whole(run)
    vi.restoreAllMocks()
    expect(run.answer!.choices[0]!.text.length).toBe(500)
    expect(waits).toBeLessThan(500 * 8)
  })

  it('of several prompts are counted by their pieces where an engine does not tell their usage', async () => {
    const { run, events } = runOf([text('Hi'), finish])
    run.model = 'a/b'
    run.begin({ ...CALL, n: 2 }, () => {}, ['one', 'two'])
    await whole(run)
    await run.succeed()
    expect(events).toMatchObject([{ outcome: 'ok', completionTokens: 2 }])
  })

  it('of several prompts end with the first that fails, with its error', async () => {
    const ended: unknown[] = []
    const engine = {
      generate: ({ prompt }: ChatCall): AsyncIterable<Part> => ({
        [Symbol.asyncIterator]: () => {
          const value = text(`${prompt}`)
          let reads = 0
          const next = async () => {
            if (prompt === 'two' && reads++ > 0) throw new Error('broken')
            return { done: false, value }
          }
          // Not every engine’s can be ended.
          return prompt === 'one' ? { next } : { next, return: async () => ended.push(prompt) as never }
        },
      }),
    }
    const { run } = runOf([], { engine })
    run.begin({ ...CALL, n: 3 }, () => {}, ['one', 'two', 'three'])
    await expect(whole(run)).rejects.toThrow('broken')
    expect(ended).toContain('three')
  })

  it('come one after the other, and an engine that stops before the last breaks them', async () => {
    const all = runOf([text('Hi'), text('you'), finish])
    all.run.begin(CALL, () => {})
    expect([await all.run.next(), await all.run.next(), await all.run.next()]).toEqual([
      text('Hi'),
      text('you'),
      finish,
    ])
    expect(await all.run.next()).toBeUndefined()
    const short = runOf([text('Hi')])
    short.run.begin(CALL, () => {})
    await short.run.next()
    await expect(short.run.next()).rejects.toThrow('The engine stopped')
  })

  it('are none for a run that is over', async () => {
    const { run, client } = runOf()
    run.begin(CALL, () => {})
    client.abort('gone')
    await expect(run.next()).rejects.toBe('gone')
  })
})

describe('a run that fails', () => {
  it('stops the engine first, then is counted and ends; what it held is given back when the engine has stopped', async () => {
    const error = new Error('broken')
    const { run, steps, events, ends } = runOf()
    run.model = 'a/b'
    await run.enter()
    run.hold(1)
    run.begin(CALL, () => {})
    await run.next()
    expect(await run.fail(error)).toMatchObject({ status: 500 })
    await settled()
    expect(run.signal.reason).toBe(error)
    const after = steps.filter((step) => step !== 'room').slice(2)
    expect(after.filter((step) => !step.startsWith('engine'))).toEqual(['record error', 'end 500', 'release'])
    expect(after).toContain('engine ends, aborted')
    expect(after.at(-1)).toBe('release')
    // Its usage was not told yet, but it had said something.
    expect(events).toMatchObject([{ outcome: 'error', promptTokens: 0, cachedTokens: 0, completionTokens: 1 }])
    expect(ends).toMatchObject([[500, { model: 'a/b', error }]])
    // Once.
    expect(await run.fail(new V1Error(400, 'No.'))).toMatchObject({ status: 400 })
    expect(ends).toHaveLength(1)
  })

  it('gives back the room of what it held, and of its place in line', async () => {
    const { run, steps } = runOf()
    run.hold(1)
    await run.fail(new V1Error(400, 'No.'))
    expect(steps).toEqual(['hold for me', 'room', 'end 400'])
  })

  it.each([
    ['its client', (run: ReturnType<typeof runOf>) => run.client.abort('gone')],
    ['its reader', (run: ReturnType<typeof runOf>) => run.run.leave('gone')],
  ])('because %s has left is no error', async (_, leave) => {
    const one = runOf()
    one.run.model = 'a/b'
    one.run.begin(CALL, () => {})
    leave(one)
    await settled()
    await settled()
    expect(one.run.signal.aborted).toBe(true)
    expect(one.ends).toMatchObject([[499, { error: 'gone' }]])
    expect(one.events).toMatchObject([{ outcome: 'aborted' }])
    expect(one.run.client).toBe(one.client.signal)
  })

  it('for want of room says so, and holds nothing more', async () => {
    const { run, room, ends } = runOf()
    run.hold(1)
    const full = new V1Error(503, 'Too many bodies.')
    room.onGivenUp!(full)
    await settled()
    expect(ends).toMatchObject([[503, { error: full }]])
    expect(() => run.hold(1)).toThrow(full)
    // Also where that happens while it asks for more.
    const other = runOf([], { bodies: new Bodies(0) })
    expect(() => other.run.hold(1)).toThrow('unfinished requests')
  })

  it('lets go of its client', async () => {
    for (const end of [(run: Run) => run.fail(new Error('x')), (run: Run) => run.succeed()]) {
      const { run, client, ends } = runOf([finish])
      run.begin(CALL, () => {})
      await whole(run)
      await end(run)
      client.abort('gone')
      await settled()
      expect(ends).toHaveLength(1)
      expect(run.signal.reason).not.toBe('gone')
    }
  })

  it('gives its place to the next also where the engine does not stop, and says so', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const forever = async function* (): AsyncIterable<Part> {
        yield text('Hi')
        await new Promise(() => {})
      }
      const { run, steps, logged } = runOf(forever)
      run.model = 'a/b'
      await run.enter()
      run.begin(CALL, () => {})
      await run.next()
      const next = run.next().catch((reason: unknown) => reason)
      await run.fail('enough')
      expect(await next).toBe('enough')
      expect(steps).not.toContain('release')
      await vi.advanceTimersByTimeAsync(5000)
      for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
      expect(steps).toContain('release')
      expect(logged).toEqual([
        {
          type: 'fault',
          message:
            'The engine does not stop request req_1 of a/b, which is over. The next one gets its place in the queue.',
        },
      ])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a run whose engine does not end', () => {
  afterEach(() => void vi.useRealTimers())
  const message =
    "The engine did not end request req_1 of a/b within 5000 ms after all choices had finished, and is not waited for. Let 'generate' return after its last part."

  it.each(['when it is told', 'never'])('is whole once it might have, and so is its place free: %s', async (how) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const forever = async function* (): AsyncIterable<Part> {
      yield text('Hi')
      yield finish
      yield usage('fp')
      await new Promise<void>((resolve) => {
        if (how !== 'never') made.run.signal.addEventListener('abort', () => resolve())
      })
    }
    const made = runOf(forever)
    const { run, steps, logged, ends } = made
    run.model = 'a/b'
    await run.enter()
    run.begin(CALL, () => {})
    let said: string | undefined
    void whole(run).then((all) => {
      said = all
    })
    await vi.advanceTimersByTimeAsync(4999)
    expect(said).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1)
    expect(said).toBe('Hi')
    expect(run.signal.aborted).toBe(false)
    await run.succeed()
    expect(ends).toEqual([[200, { model: 'a/b', usage: USAGE }]])
    expect(run.signal.aborted).toBe(true)
    await vi.advanceTimersByTimeAsync(how === 'never' ? 4999 : 0)
    expect([steps.includes('release'), logged]).toEqual([how !== 'never', [{ type: 'fault', message }]])
    await vi.advanceTimersByTimeAsync(1)
    expect([steps.includes('release'), logged.length]).toEqual([true, how === 'never' ? 2 : 1])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is told to, and not waited for, before the next prompt begins', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const signals: AbortSignal[] = []
    const told: number[] = []
    const engine = {
      generate: async function* ({ signal }: ChatCall): AsyncIterable<Part> {
        told.push(signals.filter(({ aborted }) => aborted).length)
        signals.push(signal)
        yield text('Hi')
        yield finish
        await new Promise(() => {})
      },
    }
    const { run, logged } = runOf([], { engine })
    run.model = 'a/b'
    run.begin({ ...CALL, n: 40 }, () => {}, Array(40).fill('Say'))
    let said: string | undefined
    void whole(run).then((all) => {
      said = all
    })
    while (said === undefined) await vi.advanceTimersByTimeAsync(5000)
    expect(said).toBe('Hi'.repeat(40))
    expect(told).toEqual(signals.map((_, i) => Math.max(0, i - 15)))
    await run.succeed()
    expect(logged).toEqual(Array(40).fill({ type: 'fault', message }))
  })
})

describe('the one result of a run', () => {
  it('is what the engine gives, or its error', async () => {
    const { run } = runOf()
    expect(await run.during(Promise.resolve(7))).toBe(7)
    await expect(runOf().run.during(Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  })

  it.each(['ends well', 'breaks'])('is left at once; its place is free when the engine %s', async (how) => {
    const { run, steps, logged } = runOf()
    await run.enter()
    let end = () => {}
    const acting = new Promise<void>((resolve, reject) => {
      end = how === 'breaks' ? () => reject(new Error('too late')) : resolve
    })
    const result = run.during(acting)
    run.leave('gone')
    await expect(result).rejects.toBe('gone')
    await settled()
    expect(steps).toEqual([expect.stringMatching(/^enter/), 'end 499'])
    end()
    await settled()
    expect([steps.at(-1), logged]).toEqual(['release', []])
  })

  it('of an engine that does not stop keeps its place for a while, and no longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const { run, steps, logged } = runOf()
      await run.enter()
      run.during(new Promise(() => {})).catch(() => {})
      await run.fail('enough')
      await vi.advanceTimersByTimeAsync(5000)
      expect(steps.at(-1)).toBe('release')
      // Of what is counted only once it is there no model is known.
      const message = 'The engine does not stop request req_1, which is over. The next one gets its place in the queue.'
      expect(logged).toEqual([{ type: 'fault', message }])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('what is counted of a run', () => {
  it('is kept before its last word goes out, and one that cannot be is said', async () => {
    const error = new Error('full')
    let kept = () => {}
    const later = runOf([finish], {
      ledger: { record: () => new Promise<void>((resolve) => (kept = resolve)) },
    })
    later.run.model = 'a/b'
    later.run.begin(CALL, () => {})
    await whole(later.run)
    const done = later.run.succeed()
    await settled()
    expect(later.ends).toEqual([])
    kept()
    await done
    expect(later.ends).toHaveLength(1)
    for (const record of [
      () => Promise.reject(error),
      () => {
        throw error
      },
    ]) {
      const { run, logged, ends } = runOf([finish], { ledger: { record } })
      run.model = 'a/b'
      run.begin(CALL, () => {})
      await whole(run)
      await run.succeed()
      expect(logged).toEqual([{ type: 'fault', message: 'The usage of request req_1 could not be stored.', error }])
      expect(ends).toHaveLength(1)
    }
  })

  it('is told to whoever listens, who may not break it', async () => {
    const received: UsageEvent[] = []
    const error = new Error('odd')
    const onUsage = (event: UsageEvent) => {
      received.push(event)
      throw error
    }
    const { run, events, logged, ends } = runOf(undefined, { onUsage })
    run.model = 'a/b'
    run.begin(CALL, () => {})
    await whole(run)
    await run.succeed()
    expect([received, ends.length]).toEqual([events, 1])
    expect(logged).toEqual([{ type: 'fault', message: 'onUsage threw an error.', error }])
  })

  it('of one that failed before anything was asked is nothing but that', async () => {
    const { run, events } = runOf()
    run.model = 'a/b'
    await run.fail(new V1Error(400, 'No.'))
    expect(events).toMatchObject([{ outcome: 'error', promptTokens: 0, cachedTokens: 0, completionTokens: 0 }])
  })
})

it('what took too long is told how long it might, and not to come again', () => {
  const error = timedOut(1500)
  expect(error).toMatchObject({ status: 504, code: 'timeout', headers: { 'x-should-retry': 'false' } })
  expect(error.message).toBe('The request took longer than 1500 ms.')
})
