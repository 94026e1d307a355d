import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, test, vi } from 'vitest'
import { V1Error } from '../contract/errors.js'
import { scripted } from '../engines/scripted.js'
import { fileUsage } from '../usage/file.js'
import { memoryUsage } from '../usage/table.js'
import type { LogEvent } from './door/log.js'
import { memoryResponses } from './endpoints/responses/store/shelved.js'
import { createV1 } from './v1.js'
import {
  chatInit,
  chatRequest,
  errorOf,
  jsonOf,
  KEY,
  MODEL,
  serviceOf,
  until,
  valid,
  wireSchema,
} from './v1.test-helper.js'

test.skipIf(!wireSchema)(
  'answers are checked against ../shared/openai/wire.schema.json, which lies beside the checkout',
  () => {
    expect(wireSchema).toHaveProperty('$defs.CreateChatCompletionResponse')
  },
)

describe('models', () => {
  it('are listed with their constant fields', async () => {
    const { ask } = serviceOf()
    const answer = await ask('/models')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(valid('ListModelsResponse', jsonOf(answer))).toEqual({
      object: 'list',
      data: [{ id: MODEL, object: 'model', created: 0, owned_by: 'scripted', root: MODEL }],
      // Those that decide, in the form in which clients of TypeSafe's interface look for models.
      models: [],
    })
  })

  it.each(['test/hello', 'test%2Fhello', 'test%2fhello', '%74est/hello', 'test/hello/'])(
    'are found as %s',
    async (path) => {
      expect(jsonOf(await serviceOf().ask(`/models/${path}`))).toMatchObject({ id: MODEL, root: MODEL })
    },
  )

  it.each(['other', 'test/hello//', '/', '%', '%ff', 'test%252Fhello'])(
    'that do not exist are 404: %s',
    async (path) => {
      const expected = { status: 404, type: 'not_found_error', param: 'model', code: 'model_not_found' }
      const error = errorOf(await serviceOf().ask(`/models/${path}`))
      expect(error).toMatchObject(expected)
      expect(error.message).toContain(`'${MODEL}'`)
    },
  )

  it('say more of themselves where the engine does', async () => {
    const models = [{ id: 'a/b', ownedBy: 'me', contextLength: 2048, metadata: { device: 'cpu' } }]
    const { ask } = serviceOf({ models, async *generate() {} })
    expect(jsonOf(await ask('/models/a/b'))).toMatchObject({ context_length: 2048, metadata: { device: 'cpu' } })
  })
})

describe('paths and methods', () => {
  it.each(['', '/', '/chat', '/embedding', '/chat/completions/x', '/MODELS', '//models'])(
    '404 for %s',
    async (path) => {
      const error = errorOf(await serviceOf().ask(path))
      expect(error).toMatchObject({ status: 404, type: 'not_found_error', code: 'unknown_url' })
      expect(error.message).toContain('POST /chat/completions')
    },
  )

  it('404 for a path outside the base path, however long it is', async () => {
    const { v1 } = serviceOf()
    for (const path of ['/', '/v2/models', '/v1models', '/a/v1/models']) {
      const request = new Request(`http://x${path}`, { headers: { authorization: `Bearer ${KEY}` } })
      expect((await v1.fetch(request)).status).toBe(404)
    }
  })

  it('a client that leaves out the base path is answered, with its key, if nothing else uses the path', async () => {
    const { v1 } = serviceOf()
    const responseTo = (path: string, headers: HeadersInit = { authorization: `Bearer ${KEY}` }) => {
      const request = new Request(`http://x${path}`, { headers })
      expect(v1.match(request)).toBe(false)
      return v1.fetch(request)
    }
    expect((await responseTo('/models')).status).toBe(200)
    expect((await responseTo('/models', {})).status).toBe(401)
    expect((await responseTo('/chat/completions')).status).toBe(405)
    const chat = new Request('http://x/chat/completions', chatInit({}, { headers: { authorization: `Bearer ${KEY}` } }))
    expect((await v1.fetch(chat)).status).toBe(200)
  })

  it('a slash at the end changes nothing', async () => {
    const { ask } = serviceOf()
    expect(jsonOf(await ask('/models/'))).toMatchObject({ object: 'list' })
    expect((await ask('/chat/completions/', chatInit())).status).toBe(200)
  })

  it.each([
    ['/models', 'GET, HEAD, OPTIONS'],
    ['/models/test/hello', 'GET, HEAD, OPTIONS'],
    ['/organization/usage/completions', 'GET, HEAD, OPTIONS'],
    ['/chat/completions', 'POST, OPTIONS'],
  ])('405 names what %s allows', async (path, allow) => {
    const { ask } = serviceOf()
    for (const method of ['DELETE', 'PUT', 'PATCH', allow.startsWith('POST') ? 'GET' : 'POST']) {
      const answer = await ask(path, { method })
      expect(errorOf(answer)).toMatchObject({ status: 405, type: 'invalid_request_error' })
      expect(answer.headers.get('allow')).toBe(allow)
    }
    const options = await ask(path, { method: 'OPTIONS', headers: { authorization: '' } })
    expect([options.status, options.headers.get('allow'), options.text]).toEqual([204, allow, ''])
  })

  it('HEAD is GET without a body', async () => {
    const { ask } = serviceOf()
    for (const path of ['/models', '/models/none']) {
      const [get, head] = [await ask(path), await ask(path, { method: 'HEAD' })]
      expect([head.status, head.text]).toEqual([get.status, ''])
      expect(head.headers.get('content-type')).toBe('application/json')
    }
  })

  it.each(['/v1', 'v1', '/v1/', '/a/b/v1', '/wörk/v1', '/'])('work under any base path: %s', async (basePath) => {
    const { v1 } = serviceOf('Hi', { basePath })
    const { pathname } = new URL(`/${basePath}/models`.replace(/\/+/g, '/'), 'http://x')
    const request = new Request(`http://x${pathname}`, { headers: { authorization: `Bearer ${KEY}` } })
    expect(v1.match(request)).toBe(true)
    expect((await v1.fetch(request)).status).toBe(200)
  })

  it('matches by whole segments', () => {
    const { match } = serviceOf().v1
    const under = (path: string) => match({ url: `http://x${path}` })
    expect(['/v1', '/v1/', '/v1/x?y', '/v1#z'].map(under)).toEqual([true, true, true, true])
    expect(['/', '/v1x', '/v2/v1', '//v1'].map(under)).toEqual([false, false, false, false])
  })
})

describe('createV1', () => {
  it.each([
    ['no keys', { keys: [] }],
    ['an empty key', { keys: [''] }],
    ['keys left out', { keys: undefined }],
    ['a limit of none', { keys: 'none', maxInFlight: 0 }],
    ['a limit that is no number', { keys: 'none', bodyLimit: Number.NaN }],
  ])('refuses %s', (_, options) => {
    const scriptless = { models: [], async *generate() {} }
    expect(() => createV1({ engine: scriptless, ...(options as { keys: 'none' }) })).toThrow()
  })

  it.each([undefined, {}, { engine: 'webgpu' }, { engine: { models: [] } }])(
    'says that %j names no engine',
    (options) => {
      expect(() => createV1({ ...options, keys: 'none' } as never)).toThrow("'engine' must be an engine")
    },
  )
})

describe('the log', () => {
  it('says at the start that usage cannot be kept', async () => {
    const events: LogEvent[] = []
    const usage = fileUsage(join(tmpdir(), 'nowhere', 'usage.jsonl'))
    serviceOf(undefined, { usage, log: (event) => events.push(event) })
    await until(() => events.length > 0)
    expect(events).toMatchObject([{ type: 'fault', error: { code: 'ENOENT' } }])
  })

  function logged(...[script, options]: Parameters<typeof serviceOf>) {
    const events: LogEvent[] = []
    return { events, ...serviceOf(script, { log: (event) => events.push(event), ...options }) }
  }

  it('has one line for each request, with who asked what and what it took', async () => {
    const { events, chat, ask } = logged()
    const answer = await chat({}, { headers: { 'openai-project': 'team/app' } })
    await chat({ stream: true })
    await ask('/models/none')
    expect(events).toMatchObject([
      { status: 200, model: MODEL, project: 'team/app', requestId: answer.headers.get('x-request-id') },
      { status: 200, model: MODEL, usage: { completionTokens: 3 } },
      { status: 404, method: 'GET', path: '/v1/models/none' },
    ])
  })

  it('has the cause of a 500, which the client never sees', async () => {
    const cause = new Error('the password is swordfish')
    const { events, chat } = logged([cause])
    const answer = await chat()
    expect(errorOf(answer)).toMatchObject({ status: 500, type: 'server_error' })
    expect(answer.text).not.toContain('swordfish')
    expect(events).toMatchObject([{ status: 500, error: cause }])
  })

  it('says 499 for a client that left', async () => {
    const aborter = new AbortController()
    // Not before the model is known, however long a busy machine takes to read the body.
    const { events, v1 } = logged(() => {
      setTimeout(() => aborter.abort())
      return [{ type: 'wait', ms: 60_000 }]
    })
    await v1.fetch(chatRequest({}, { signal: aborter.signal }))
    expect(events).toMatchObject([{ status: 499, model: MODEL }])
  })

  it('that throws harms no answer', async () => {
    const complaint = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask } = serviceOf('Hi', {
      log: () => {
        throw new Error('full')
      },
    })
    expect((await ask('/models')).status).toBe(200)
    expect(complaint).toHaveBeenCalledOnce()
    complaint.mockRestore()
  })
})

describe('close', () => {
  it('lets running answers end, and refuses new ones', async () => {
    let closed = false
    const engine = {
      models: [{ id: MODEL, ownedBy: 'me' }],
      async *generate() {
        yield { type: 'text-delta' as const, choice: 0, text: 'one' }
        yield { type: 'finish' as const, choice: 0, reason: 'stop' as const }
      },
      close: async () => {
        closed = true
      },
    }
    const { v1, ask, chat } = serviceOf(engine)
    const running = await v1.fetch(chatRequest({ stream: true }))
    const closing = v1.close()
    for (const refused of [await chat(), await ask('/models')]) {
      expect(errorOf(refused)).toMatchObject({ status: 503, code: 'closing' })
      expect(refused.headers.get('x-should-retry')).toBe('true')
    }
    expect(closed).toBe(false)
    expect(await running.text()).toContain('[DONE]')
    await closing
    expect(closed).toBe(true)
  })
})

describe('what is to be closed', () => {
  afterEach(() => void vi.useRealTimers())

  it('and never is, is waited for as long as a request, and named; all else is closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const closed: string[] = []
    const never = (name: string) => () => {
      closed.push(name)
      return new Promise<void>(() => {})
    }
    const responses = Object.assign(memoryResponses(), { close: async () => void closed.push('responses') })
    const usage = Object.assign(memoryUsage(), { close: never('usage') })
    const engine = { ...scripted({ models: { [MODEL]: 'Hi' } }), close: never('engine') }
    const { v1 } = serviceOf(engine, { usage, responses, timeoutMs: 60_000 })
    let error: unknown
    v1.close().catch((reason: unknown) => {
      error = reason
    })
    await vi.advanceTimersByTimeAsync(60_000)
    expect([closed, error]).toEqual([['usage', 'responses', 'engine'], undefined])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(error).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining("'usage' took longer than 60000 ms"),
    })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('and cannot be, keeps nothing else open', async () => {
    const close = vi.fn(async () => {})
    const usage = Object.assign(memoryUsage(), { close: () => Promise.reject(new Error('full')) })
    const { v1 } = serviceOf({ ...scripted({ models: { [MODEL]: 'Hi' } }), close }, { usage })
    await expect(v1.close()).rejects.toThrow('full')
    expect(close).toHaveBeenCalledOnce()
  })
})

describe('loading', () => {
  function slow(ms: number, outcome?: Error) {
    let loads = 0
    const engine = {
      models: [{ id: MODEL, ownedBy: 'me' }],
      async load(model: string, onProgress: (progress: never) => void) {
        loads++
        onProgress({ model, phase: 'download', bytesLoaded: 42, bytesTotal: 100, secondsLeft: 7 } as never)
        await new Promise((resolve) => setTimeout(resolve, ms))
        if (outcome) throw outcome
      },
      async *generate() {
        yield { type: 'finish' as const, choice: 0, reason: 'stop' as const }
      },
    }
    return { engine, loads: () => loads }
  }

  it('happens once, on the first request, for all who wait', async () => {
    const { engine, loads } = slow(20)
    const { chat } = serviceOf(engine)
    const answers = await Promise.all([chat(), chat(), chat()])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    await chat()
    expect(loads()).toBe(1)
  })

  it('that takes long is a 503 that says how far it is, and continues', async () => {
    const { engine, loads } = slow(60)
    const { chat } = serviceOf(engine, { loadWaitMs: 5 })
    const answer = await chat()
    expect(errorOf(answer)).toMatchObject({ status: 503, type: 'service_unavailable', code: 'model_loading' })
    expect(answer.text).toContain('download, 42 %')
    expect(answer.headers.get('retry-after')).toBe('7')
    expect(answer.headers.get('retry-after-ms')).toBe('7000')
    let status = 503
    while (status === 503) status = (await chat()).status
    expect([status, loads()]).toEqual([200, 1])
  })

  it('that fails is told, and tried again', async () => {
    const { engine, loads } = slow(1, new V1Error(503, 'There is no GPU.'))
    const { chat } = serviceOf(engine)
    for (let i = 0; i < 2; i++)
      expect(errorOf(await chat())).toMatchObject({ status: 503, message: 'There is no GPU.' })
    expect(loads()).toBe(2)
  })

  it('ahead of the first request reports its progress', async () => {
    const { engine, loads } = slow(5)
    const { v1, chat } = serviceOf(engine)
    const seen: number[] = []
    await v1.load(MODEL, ({ bytesLoaded }) => seen.push(bytesLoaded))
    await chat()
    expect([seen, loads()]).toEqual([[42], 1])
    await v1.unload(MODEL)
    await chat()
    expect(loads()).toBe(2)
  })

  it('can be left', async () => {
    const { engine } = slow(60_000)
    const events: LogEvent[] = []
    const { v1 } = serviceOf(engine, { log: (event) => events.push(event) })
    const aborter = new AbortController()
    void v1.fetch(chatRequest({}, { signal: aborter.signal }))
    setTimeout(() => aborter.abort(), 5)
    await until(() => events.length > 0)
    expect(events).toMatchObject([{ status: 499 }])
  })
})
