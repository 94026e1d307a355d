import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Capabilities, ChatCall, Constrained, Engine, ModelInfo, Part } from '../../contract/engine.js'
import { V1Error } from '../../contract/errors.js'
import { Constraints } from '../../grammar/constraints/constraints.js'
import { Deadlines } from '../stream/abort.js'
import { SSE_HEADERS } from '../stream/sse.js'
import type { AnswerChoice, CallSpec, Reply, ReplyHead, StreamReply } from '../wire/reply.js'
import { answering, checkChoice, type RunRequest } from './answering.js'
import type { Exchange, RouteResponse, Service } from './service.js'

const text = (content: string, choice = 0): Part => ({ type: 'text-delta', choice, text: content })
const finish = (choice = 0): Part => ({ type: 'finish', choice, reason: 'stop' })
const HI: readonly Part[] = [text('Hi'), finish()]
const TOO_LONG = new V1Error(400, 'Too long.', { code: 'context_length_exceeded' })
const IMAGE = { role: 'user', content: [{ type: 'image', url: 'data:image/png;base64,AA==' }] } as const

const SPEC = {
  model: 'a/b',
  messages: [{ role: 'user', content: 'Hello?' }],
  n: 1,
  stop: [],
  sampling: { temperature: 0.5, topK: 0 },
  output: { type: 'text' },
  tools: [],
  toolChoice: 'none',
  parallelToolCalls: true,
  fields: { format: 'response_format', parameters: (tool: number) => `tools[${tool}]` },
} as unknown as CallSpec

interface Setup {
  readonly says?: (call: ChatCall) => Iterable<Part>
  readonly capabilities?: Capabilities
  /** What it can once it is loaded, which it is not at first. */
  readonly loaded?: Capabilities
  readonly model?: Partial<ModelInfo>
  readonly spec?: Partial<CallSpec>
  readonly request?: Partial<RunRequest>
  readonly reply?: Reply
  readonly service?: Partial<Service>
  readonly ask?: () => Promise<RunRequest>
  readonly signal?: AbortSignal
}

/** A request on its way, and what is seen of it. */
function ask(part: Setup = {}) {
  const steps: string[] = []
  const calls: ChatCall[] = []
  const heads: ReplyHead[] = []
  const ends: [number, { error?: unknown } | undefined][] = []
  const logged: object[] = []
  const model: ModelInfo = { id: 'a/b', ownedBy: 'me', ...part.model }
  let capabilities = part.capabilities
  let loading: Promise<void> | undefined
  const engine: Engine = {
    get models() {
      return [{ ...model, ...(capabilities && { capabilities }) }]
    },
    async *generate(call) {
      steps.push('generate')
      calls.push(call)
      yield* part.says?.(call) ?? HI
    },
  }
  const service = {
    ...{ engine, describeSchema: true, constraints: new Constraints(), fingerprints: new Map([['a/b', 'fp_before']]) },
    deadlines: new Deadlines(undefined, () => undefined),
    patience: new Deadlines(undefined, () => undefined),
    admission: {
      enter: (_: string, __: AbortSignal, { weight }: { weight: number }) => {
        steps.push(`enter ${weight}`)
        return () => void steps.push('release')
      },
    },
    loader: {
      ready: (id: string) => {
        expect(id).toBe('a/b')
        if (!part.loaded || loading) return undefined
        loading = new Promise((resolve) => setImmediate(resolve)).then(() => {
          steps.push('loaded')
          capabilities = part.loaded
        })
        return loading
      },
    },
    ledger: {
      record: ({ outcome, model }: { outcome: string; model: string }) => void steps.push(`${outcome} ${model}`),
    },
    log: (event: object) => logged.push(event),
    ...part.service,
  } as unknown as Service
  const client = new AbortController()
  const exchange = {
    request: { signal: client.signal },
    requestId: 'req_1',
    caller: { id: 'me' },
    project: null,
    end: (status: number, details: object) => {
      steps.push(`end ${status}`)
      ends.push([status, details])
    },
  } as unknown as Exchange
  const parts: Part[] = []
  const whole: Reply = {
    stream: false,
    begin: (head) => void heads.push(head),
    part: (one) => void parts.push(one),
    whole: () => {
      steps.push('whole')
      return { parts: parts.map((one) => ('text' in one ? one.text : one.type)) }
    },
  }
  const request: RunRequest = {
    ...{ spec: { ...SPEC, ...part.spec }, reply: part.reply ?? whole, id: 'chatcmpl-1', ignored: ['odd'] },
    ...part.request,
  }
  const answer = answering(service, exchange, part.ask ?? (async () => request), part.signal)
  answer.catch(() => {})
  return { answer, steps, calls, heads, ends, logged, client, parts }
}

const bodyOf = ({ body }: RouteResponse) => (typeof body === 'function' ? JSON.parse(body('me') as string) : body)
/** Once all is done that was begun: what goes on without its client is awaited by nobody. */
const ended = ({ ends }: { readonly ends: readonly unknown[] }) => vi.waitFor(() => expect(ends).toHaveLength(1))

afterEach(() => void vi.useRealTimers())

describe('an answer that is sent whole', () => {
  it('has its parts in order, and is counted before it is sent', async () => {
    const { answer, steps, parts, ends } = ask({ request: { headers: { 'x-own': 'yes' } } })
    const reply = await answer
    expect(bodyOf(reply)).toEqual({ parts: ['Hi', 'finish'] })
    expect([reply.status, reply.streams]).toEqual([200, undefined])
    expect(reply.headers).toEqual({ 'content-type': 'application/json', 'x-ignored-fields': 'odd', 'x-own': 'yes' })
    expect(parts).toEqual(HI)
    expect(steps).toEqual(['enter 1', 'generate', 'whole', 'ok a/b', 'release', 'end 200'])
    expect(ends).toHaveLength(1)
  })

  it('is begun with what all of its chunks say', async () => {
    const before = performance.now()
    const { answer, heads } = ask()
    await answer
    const [head] = heads
    expect(head).toMatchObject({ id: 'chatcmpl-1', model: 'a/b', fingerprint: 'fp_before' })
    expect(Math.abs(head!.created - Date.now() / 1000)).toBeLessThan(60)
    expect(Number.isInteger(head!.created)).toBe(true)
    expect(head!.calledAt).toBeGreaterThanOrEqual(before)
    const known = ask({ model: { fingerprint: 'fp_own' } })
    await known.answer
    expect(known.heads[0]!.fingerprint).toBe('fp_own')
  })

  it('may be of several prompts', async () => {
    const { answer, calls } = ask({
      spec: { n: 2, prompts: ['one', 'two'] },
      says: () => [text('x'), finish()],
    })
    expect(bodyOf(await answer).parts).toHaveLength(4)
    expect(calls.map(({ prompt, n }) => [prompt, n])).toEqual([
      ['one', 1],
      ['two', 1],
    ])
  })

  it('is refused where it is not what was asked for', async () => {
    const output = { type: 'json_object' } as const
    const { answer, ends } = ask({ spec: { output } })
    await expect(answer).rejects.toMatchObject({ status: 500, code: 'invalid_output' })
    expect(ends).toMatchObject([[500, {}]])
    expect(bodyOf(await ask({ spec: { output }, says: () => [text('{}'), finish()] }).answer).parts).toEqual([
      ...['{}', 'finish'],
    ])
  })
})

describe('a last look that takes its time, or calls with gaps', () => {
  const choiceOf = (...toolCalls: AnswerChoice['toolCalls']) => ({ index: 0, text: '', reasoning: '', toolCalls })
  const constraint = (faultOf: Constrained['faultOf']): Constrained => ({ notEnforced: [], faultOf })

  it.each([
    ['at once', (fault: string | undefined) => fault],
    ['later', async (fault: string | undefined) => fault],
  ])('refuses what is wrong, and nothing else: %s', async (_, resultOf) => {
    const check = async (fault: string | undefined) =>
      checkChoice(
        choiceOf(),
        SPEC,
        constraint(() => resultOf(fault)),
      )
    await expect(check(undefined)).resolves.toBeUndefined()
    await expect(check('no document')).rejects.toMatchObject({
      ...{ status: 500, code: 'invalid_output', cause: { message: 'no document' } },
    })
  })

  it('is shown the calls that are there', () => {
    const shown: unknown[] = []
    const faultOf = (document: object) => void shown.push(document)
    const call = { id: 'call_1', name: 'f', arguments: '{}' }
    void checkChoice(choiceOf(undefined, call), SPEC, constraint(faultOf))
    expect(shown).toEqual([{ text: '', toolCalls: [{ name: 'f', arguments: '{}' }], cut: false }])
  })
})

describe('what an engine is asked', () => {
  it('is what the request says, field by field', async () => {
    const spec = {
      ...{ prompt: 'Say', suffix: 's', maxTokens: 7, stop: ['x'], stopTokens: [3] },
      ...{ returnTokens: true, topLogprobs: 2, tokensAsIds: true, promptLogprobs: true, thinkingBudget: 9, n: 2 },
      ...{ tools: [{ name: 'f', parameters: {}, strict: false }], toolChoice: 'auto', parallelToolCalls: false },
      ...{ templateOptions: { a: 1 }, evidence: true, output: { type: 'json_object' } },
    } as unknown as Partial<CallSpec>
    const able = { sampling: true, tokens: true, infill: true, promptLogprobs: true, evidence: true }
    const says = () => [text('{}', 0), finish(0), text('{}', 1), finish(1)]
    const { answer, calls, client } = ask({ spec, capabilities: able, says })
    await answer
    const { fields: _, ...rest } = { ...SPEC, ...spec }
    expect(calls[0]).toMatchObject({ ...rest, id: 'chatcmpl-1', caller: 'me', describeSchema: true })
    expect([calls[0]!.grammar!.accepts('{}'), calls[0]!.toolGrammar!.accepts('{"name":"f","arguments":{}}')]).toEqual([
      ...[true, true],
    ])
    expect(calls[0]!.signal).not.toBe(client.signal)
    const free = ask({ spec: { minTokens: 1, ignoreEnds: true }, capabilities: able })
    await free.answer
    expect(free.calls[0]).toMatchObject({ minTokens: 1, ignoreEnds: true })
  })

  it('is told what only some take where it takes that', async () => {
    const sampling = async (capabilities?: Capabilities) => {
      const { answer, calls } = ask(capabilities && { capabilities })
      await answer
      return calls[0]!.sampling
    }
    expect(await sampling({ sampling: true })).toHaveProperty('topK', 0)
    for (const able of [undefined, {}]) expect(await sampling(able)).not.toHaveProperty('topK')
  })

  it('is heard of when the client leaves, or whoever it goes on for', async () => {
    let leave = () => {}
    const says = function* (): Generator<Part> {
      yield text('Hi')
      leave()
      yield text('more')
    }
    const one = ask({ says })
    leave = () => one.client.abort('gone')
    await expect(one.answer).rejects.toMatchObject({ status: 499 })
    expect(one.calls[0]!.signal.reason).toBe('gone')
    const other = new AbortController()
    const two = ask({ says, signal: other.signal })
    leave = () => two.client.abort('gone')
    await expect(two.answer).rejects.toMatchObject({ status: 500 })
  })
})

describe('a request that comes to nothing', () => {
  it('is ended with its error, wherever that comes from', async () => {
    const refusal = new V1Error(400, 'No.')
    const unread = ask({ ask: () => Promise.reject(refusal) })
    await expect(unread.answer).rejects.toBe(refusal)
    expect([unread.steps, unread.ends]).toMatchObject([['end 400'], [[400, { error: refusal }]]])
    const unknown = ask({ spec: { model: 'no/such' } })
    await expect(unknown.answer).rejects.toMatchObject({ status: 404 })
    expect(unknown.steps).toEqual(['end 404'])
    const broken = new Error('broken')
    const failing = ask({
      says: () => {
        throw broken
      },
    })
    await expect(failing.answer).rejects.toMatchObject({ status: 500 })
    await vi.waitFor(() => expect(failing.steps).toEqual(['enter 1', 'generate', 'error a/b', 'end 500', 'release']))
  })

  it('asks for what the model cannot do: it takes nobody’s place', async () => {
    const { answer, steps } = ask({ capabilities: { chat: false } })
    await expect(answer).rejects.toMatchObject({ status: 400, param: 'model' })
    expect(steps).toEqual(['end 400'])
  })
})

describe('a model that is loaded first', () => {
  it('takes nobody’s place meanwhile', async () => {
    const { answer, steps } = ask({ loaded: {}, spec: { n: 1 } })
    await answer
    expect(steps.slice(0, 5)).toEqual(['enter 1', 'release', 'loaded', 'enter 1', 'generate'])
  })

  it('is held to what it can once it is there', async () => {
    const cannot = ask({ loaded: { chat: false } })
    await expect(cannot.answer).rejects.toMatchObject({ status: 400 })
    expect(cannot.calls).toEqual([])
    const spec = { thinkingBudget: 5 }
    const hint = ask({ loaded: { thinking: false }, spec })
    expect((await hint.answer).headers['x-ignored-fields']).toBe('odd, reasoning_effort')
    expect(hint.calls[0]!.thinkingBudget).toBeUndefined()
    const early = ask({ capabilities: { thinking: false }, spec })
    expect((await early.answer).headers['x-ignored-fields']).toBe('odd, reasoning_effort')
  })
})

describe('a conversation that is put together', () => {
  it('stands for the messages of the request, once there is a place for it', async () => {
    const steps: string[] = []
    const context = async () => {
      steps.push('context')
      return { messages: [...SPEC.messages, ...SPEC.messages], templateOptions: { kept: true } }
    }
    const { answer, calls, steps: all } = ask({ request: { context } })
    await answer
    expect([calls[0]!.messages.length, all[0], steps]).toEqual([2, 'enter 1', ['context']])
    expect(calls[0]!.templateOptions).toEqual({ kept: true })
  })

  it('is held to what the model can', async () => {
    const { answer, calls } = ask({ request: { context: async () => ({ messages: [IMAGE] }) } })
    await expect(answer).rejects.toMatchObject({ status: 400, param: 'messages[0].content[0].type' })
    expect(calls).toEqual([])
  })
})

describe('a conversation that is too long', () => {
  const messages = ['a', 'b', 'c'].map((content) => ({ role: 'user', content }) as const)
  const says = (most: number) => (call: ChatCall) => {
    if (call.messages.length > most) throw TOO_LONG
    return HI
  }
  const shortened: CallSpec['shortened'] = (all) => (all.length > 1 ? all.slice(1) : undefined)

  it('is asked again with less of it, where it may be shortened', async () => {
    const { answer, calls } = ask({ spec: { messages, shortened }, says: says(1) })
    await answer
    expect(calls.map(({ messages }) => messages.map(({ content }) => content).join(''))).toEqual(['abc', 'bc', 'c'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(1)
  })

  it('is refused where nothing more can go, or it may not be', async () => {
    const none = ask({ spec: { messages, shortened }, says: says(0) })
    await expect(none.answer).rejects.toBe(TOO_LONG)
    expect(none.calls).toHaveLength(3)
    const not = ask({ spec: { messages }, says: says(1) })
    await expect(not.answer).rejects.toBe(TOO_LONG)
    expect(not.calls).toHaveLength(1)
  })

  it('is the only reason to ask again', async () => {
    for (const error of [
      new V1Error(400, 'Else.'),
      Object.assign(new Error('x'), { code: 'context_length_exceeded' }),
    ]) {
      const { answer, calls } = ask({
        spec: { messages, shortened },
        says: () => {
          throw error
        },
      })
      await expect(answer).rejects.toThrow()
      expect(calls).toHaveLength(1)
    }
  })
})

describe('an answer that is sent as it is made', () => {
  const reply = (headers?: Readonly<Record<string, string>>): Reply => ({
    ...{ stream: true, ...(headers && { headers }) },
    begin: ({ id }) => `<${id}>`,
    part: (part) => (part.type === 'text-delta' ? part.text : `[${part.type}]`),
    end: () => '</end>',
    failed: (error) => `!${error.status}`,
  })

  it('says all of it, with the headers of its form', async () => {
    const { answer, steps } = ask({ reply: reply(), request: { headers: { 'x-own': 'yes' } } })
    const response = await answer
    expect([response.status, response.streams]).toEqual([200, true])
    expect(response.headers).toEqual({ ...SSE_HEADERS, 'x-ignored-fields': 'odd', 'x-own': 'yes' })
    expect(steps).toEqual(['enter 1', 'generate'])
    expect(await new Response(response.body as ReadableStream).text()).toBe('<chatcmpl-1>Hi[finish]</end>')
    expect(steps.slice(2)).toEqual(['ok a/b', 'release', 'end 200'])
    const lines = await ask({ reply: reply({ 'content-type': 'application/x-ndjson' }) }).answer
    expect(lines.headers).toEqual({ 'content-type': 'application/x-ndjson', 'x-ignored-fields': 'odd' })
    await (lines.body as ReadableStream).cancel()
  })

  it('is refused before its first part, and says what broke it after that', async () => {
    const before = ask({
      reply: reply(),
      says: () => {
        throw new V1Error(503, 'Later.')
      },
    })
    await expect(before.answer).rejects.toMatchObject({ status: 503 })
    // How long the prompt is may be told earlier: nothing is sent for that.
    const read = ask({
      reply: reply(),
      says: function* () {
        yield { type: 'usage', usage: { promptTokens: 5, completionTokens: 0, cachedTokens: 0 } }
        throw new V1Error(503, 'Later.')
      },
    })
    await expect(read.answer).rejects.toMatchObject({ status: 503 })
    const after = ask({
      reply: reply(),
      says: function* () {
        yield text('Hi')
        throw new V1Error(503, 'Later.')
      },
    })
    expect(await new Response((await after.answer).body as ReadableStream).text()).toBe('<chatcmpl-1>Hi!503')
  })

  it('ends with an error where a part cannot be said in its form', async () => {
    const odd: Reply = {
      ...(reply() as StreamReply),
      part: () => {
        throw new Error('odd')
      },
    }
    const { answer, ends } = ask({ reply: odd })
    expect(await new Response((await answer).body as ReadableStream).text()).toBe('<chatcmpl-1>!500')
    expect(ends).toMatchObject([[500, { error: new Error('odd') }]])
  })

  it('breaks for a reader in the same process that has taken back its request, with its reason', async () => {
    const leave: { now: () => void } = { now: () => {} }
    const { answer, client, ends } = ask({
      reply: reply(),
      says: function* () {
        yield text('Hi')
        leave.now()
        yield finish()
      },
    })
    const reason = new Error('changed my mind')
    leave.now = () => client.abort(reason)
    const reader = ((await answer).body as ReadableStream).getReader()
    await reader.read()
    await expect(reader.read()).rejects.toBe(reason)
    expect(ends).toMatchObject([[499, { error: reason }]])
  })

  it('is left where its reader reads nothing of it, after as long as the service waits', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { answer, ends } = ask({ reply: reply(), service: { stallMs: 700 } })
    const reader = ((await answer).body as ReadableStream).getReader()
    await vi.advanceTimersByTimeAsync(699)
    expect(ends).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    const stalled = { status: 408, code: 'stalled', message: 'The client read nothing of its answer for 700 ms.' }
    await expect(reader.read()).rejects.toMatchObject(stalled)
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
    expect(ends).toMatchObject([[499, { error: stalled }]])
    const patient = ask({ reply: reply(), service: {} })
    await patient.answer
    await vi.advanceTimersByTimeAsync(10 ** 8)
    expect(patient.ends).toEqual([])
  })
})

describe('a run that goes on without its client', () => {
  const told: RouteResponse = { status: 202, body: 'later', headers: {} }
  const early = () => told

  it('is told at once, and what becomes of it when it is over', async () => {
    const received: V1Error[] = []
    const failed = async (error: V1Error) => void received.push(error)
    const good = ask({ request: { early, failed } })
    expect(await good.answer).toBe(told)
    expect(good.steps).not.toContain('end 200')
    await ended(good)
    expect([good.steps.at(-1), received]).toEqual(['end 200', []])
    const refusal = new V1Error(503, 'Later.')
    const bad = ask({
      request: { early, failed },
      says: () => {
        throw refusal
      },
    })
    expect(await bad.answer).toBe(told)
    await vi.waitFor(() => expect(received).toEqual([refusal]))
    expect(bad.logged).toEqual([])
  })

  it('is refused to whoever asked, as long as it does not stand in line', async () => {
    const failed = vi.fn(async () => {})
    const { answer } = ask({ request: { early, failed }, model: { capabilities: { chat: false } } })
    await expect(answer).rejects.toMatchObject({ status: 400 })
    expect(failed).not.toHaveBeenCalled()
  })

  it('says in the log what could not be kept of it, and needs nobody who hears', async () => {
    const says = () => {
      throw new V1Error(503, 'Later.')
    }
    const error = new Error('full')
    const { answer, logged } = ask({ request: { early, failed: () => Promise.reject(error) }, says })
    await answer
    await vi.waitFor(() => expect(logged).toHaveLength(1))
    expect(logged).toEqual([{ type: 'fault', message: 'The end of response chatcmpl-1 could not be stored.', error }])
    const alone = ask({ request: { early }, says })
    expect(await alone.answer).toBe(told)
    await ended(alone)
    // What is done after that is done within a turn.
    await new Promise((resolve) => setImmediate(resolve))
    expect(alone.logged).toEqual([])
  })
})
