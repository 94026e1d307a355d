import { describe, expect, it } from 'vitest'
import type { Engine, LoadProgress } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import type { LogEvent } from '../../door/log.js'
import {
  errorOf,
  eventsOf,
  finish,
  jsonOf,
  MODEL,
  pause,
  posting,
  serviceOf,
  text,
  until,
  valid,
} from '../../v1.test-helper.js'

const progress = (bytesLoaded: number): LoadProgress => ({
  model: MODEL,
  phase: 'download',
  bytesLoaded,
  bytesTotal: 100,
  filesLoaded: 0,
  filesTotal: 2,
  secondsLeft: 3,
})

/** An engine whose loads end when the test says so. */
function loading() {
  const seen = { loads: 0, unloads: 0, removed: 0, stopped: [] as unknown[] }
  let report: (progress: LoadProgress) => void = () => {}
  let settle: (error?: Error) => void = () => {}
  const engine: Engine = {
    models: [{ id: MODEL, ownedBy: 'me', metadata: { loaded: false } }],
    async *generate() {},
    load(_, onProgress, signal) {
      seen.loads++
      report = onProgress
      return new Promise((resolve, reject) => {
        settle = (error) => (error ? reject(error) : resolve())
        signal.addEventListener('abort', () => {
          seen.stopped.push(signal.reason)
          reject(signal.reason)
        })
      })
    },
    async unload() {
      seen.unloads++
    },
    async remove() {
      seen.removed++
    },
  }
  return { engine, seen, report: (bytes: number) => report(progress(bytes)), settle: (error?: Error) => settle(error) }
}

const post = { method: 'POST' }
const admin = { keys: [{ key: 'sk-test', admin: true }], manageModels: true }

describe('who hears of loads', () => {
  it('may throw: the model is loaded for all who want it, and the log is told', async () => {
    const { engine, report, settle } = loading()
    const faults: LogEvent[] = []
    const { v1 } = serviceOf(engine, { log: (event) => faults.push(event) })
    const thrown = new Error('no bar to draw on')
    const breaks = () => () => {
      throw thrown
    }
    const received: string[] = []
    const unwatch = v1.watchLoads(breaks())
    v1.watchLoads(({ bytesLoaded }) => received.push(`all ${bytesLoaded}`))
    const one = v1.load(MODEL, breaks())
    const other = v1.load(MODEL, ({ bytesLoaded }) => received.push(`other ${bytesLoaded}`))
    report(10)
    // It hears at once how far that is.
    const late = v1.load(MODEL, breaks())
    unwatch()
    report(20)
    settle()
    await Promise.all([one, other, late])
    expect(received).toEqual(['other 10', 'all 10', 'other 20', 'all 20'])
    expect(faults).toEqual(
      Array(5).fill({ type: 'fault', message: 'A listener for model loading threw an error.', error: thrown }),
    )
  })
})

describe('those who listen with one function', () => {
  it('each hear what they asked for, until they leave themselves', async () => {
    const { engine, report, settle } = loading()
    const { v1 } = serviceOf(engine)
    const received: number[] = []
    const hear = ({ bytesLoaded }: LoadProgress) => received.push(bytesLoaded)
    const leaving = new AbortController()
    const left = v1.load(MODEL, hear, leaving.signal)
    const stays = v1.load(MODEL, hear)
    const unwatch = v1.watchLoads(hear)
    v1.watchLoads(hear)
    report(10)
    expect(received).toEqual([10, 10, 10, 10])
    leaving.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    unwatch()
    report(20)
    expect(received.slice(4)).toEqual([20, 20])
    settle()
    await stays
  })
})

describe('loading a model over HTTP', () => {
  it('is a stream of its progress, the newest state first', async () => {
    const { engine, report, settle, seen } = loading()
    const { ask } = serviceOf(engine, admin)
    const answer = ask(`/models/${MODEL}/load`, post)
    await until(() => seen.loads > 0)
    for (const bytes of [10, 20, 30]) report(bytes)
    await pause(1)
    report(100)
    settle()
    const { status, headers, text } = await answer
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    const events = eventsOf(text)
    expect(events.pop()).toBe('[DONE]')
    const reports = events.map((event) => JSON.parse(event))
    expect(reports.at(-1)).toEqual({
      object: 'model.load',
      model: MODEL,
      phase: 'download',
      bytes_loaded: 100,
      bytes_total: 100,
      files_loaded: 0,
      files_total: 2,
      seconds_left: 3,
    })
    // Pieces that nobody had time to read are not told one by one.
    expect(reports.length).toBeLessThan(4)
  })

  it('is joined by who comes later, and done at once where it is loaded', async () => {
    const { engine, report, settle, seen } = loading()
    const { ask } = serviceOf(engine, admin)
    const first = ask(`/models/${MODEL}/load`, post)
    await until(() => seen.loads > 0)
    report(50)
    const second = ask(`/models/${MODEL}/load`, post)
    await pause(5)
    settle()
    const texts = (await Promise.all([first, second])).map(({ text }) => eventsOf(text))
    for (const events of texts) expect(JSON.parse(events[0]!)).toMatchObject({ bytes_loaded: 50 })
    expect(seen.loads).toBe(1)
    const idle: Engine = { models: engine.models, async *generate() {} }
    expect((await serviceOf(idle, admin).ask(`/models/${MODEL}/load`, post)).text).toBe('data: [DONE]\n\n')
  })

  it('that fails at once is a plain error, later an error frame', async () => {
    const { engine, report, settle, seen } = loading()
    const { ask } = serviceOf(engine, admin)
    for (const early of [true, false]) {
      const answer = ask(`/models/${MODEL}/load`, post)
      await until(() => seen.loads > (early ? 0 : 1))
      if (!early) report(1)
      await pause(1)
      settle(new V1Error(503, 'It does not fit.', { code: 'device_too_small' }))
      const expected = { message: 'It does not fit.', code: 'device_too_small' }
      if (early) expect(errorOf(await answer)).toMatchObject({ status: 503, ...expected })
      else expect(JSON.parse(eventsOf((await answer).text).at(-1)!).error).toMatchObject(expected)
    }
  })

  it('goes on when its reader has left', async () => {
    const { engine, report, seen } = loading()
    const { v1 } = serviceOf(engine, { ...admin, keys: 'none' })
    const answer = v1.fetch(new Request(`http://device.test/v1/models/${MODEL}/load`, post))
    await until(() => seen.loads > 0)
    report(1)
    await (await answer).body!.cancel()
    expect(seen.stopped).toEqual([])
  })
})

describe('a reader who leaves before the first word of a load', () => {
  it('is no fault', async () => {
    const { engine, seen } = loading()
    const events: LogEvent[] = []
    const { v1 } = serviceOf(engine, { ...admin, keys: 'none', log: (event) => void events.push(event) })
    const leaving = new AbortController()
    const request = new Request(`http://device.test/v1/models/${MODEL}/load`, { ...post, signal: leaving.signal })
    const answer = v1.fetch(request)
    await until(() => seen.loads > 0)
    leaving.abort()
    expect((await answer).status).toBe(499)
    expect(events).toMatchObject([{ type: 'request', status: 499 }])
    expect(seen.stopped).toEqual([])
  })
})

describe('unloading a model over HTTP', () => {
  it('frees it, and stops a load in progress', async () => {
    const { engine, report, seen } = loading()
    const { ask } = serviceOf(engine, admin)
    const answer = ask(`/models/${MODEL}/load`, post)
    await until(() => seen.loads > 0)
    report(1)
    expect(valid('Model', jsonOf(await ask(`/models/${MODEL}/unload`, post)))).toMatchObject({ id: MODEL })
    expect(JSON.parse(eventsOf((await answer).text).at(-1)!).error).toMatchObject({ code: 'model_unloaded' })
    expect([seen.unloads, seen.stopped.length]).toEqual([1, 1])
    void ask(`/models/${MODEL}/load`, post)
    await until(() => seen.loads === 2)
  })
})

describe('removing a model over HTTP', () => {
  it('deletes the download, and answers as the official client expects', async () => {
    const { engine, seen } = loading()
    const { ask } = serviceOf(engine, admin)
    const answer = jsonOf(await ask(`/models/${MODEL}`, { method: 'DELETE' }))
    expect(answer).toEqual({ id: MODEL, object: 'model', deleted: true })
    expect([seen.unloads, seen.removed]).toEqual([0, 1])
  })

  it('tells whoever waits for it not to try again by itself, which would download it once more', async () => {
    const { engine, seen } = loading()
    const { ask } = serviceOf(engine, admin)
    const chat = ask('/chat/completions', posting({ messages: [{ role: 'user', content: 'Hi' }] }))
    await until(() => seen.loads > 0)
    expect((await ask(`/models/${MODEL}`, { method: 'DELETE' })).status).toBe(200)
    const answer = await chat
    expect(errorOf(answer)).toMatchObject({ status: 503, code: 'model_deleted' })
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect([seen.loads, seen.stopped.length]).toEqual([1, 1])
  })

  it('lets nobody in who stood in line for it', async () => {
    let begun = 0
    let letGo = () => {}
    const held = new Promise<void>((resolve) => (letGo = resolve))
    const engine: Engine = {
      models: [{ id: MODEL, ownedBy: 'me', capabilities: { embeddings: true } }],
      async *generate() {
        begun++
        await held
        yield text('Hi')
        yield finish()
      },
      async embed() {
        begun++
        return { vectors: [new Float32Array([1])], promptTokens: 1 }
      },
      async remove() {},
    }
    const { ask, chat } = serviceOf(engine, { ...admin, maxInFlight: 1, maxQueue: 5 })
    const first = chat()
    await until(() => begun === 1)
    const waiting = [chat(), chat({ stream: true }), ask('/embeddings', posting({ input: 'x' }))]
    await pause(5)
    expect((await ask(`/models/${MODEL}`, { method: 'DELETE' })).status).toBe(200)
    letGo()
    await first
    for (const answer of await Promise.all(waiting)) expect(errorOf(answer).code).toBe('model_deleted')
    expect(begun).toBe(1)
    // Who comes later has it loaded anew.
    expect((await chat()).status).toBe(200)
  })

  it('that is refused leaves those alone who wait for it', async () => {
    const { engine, seen, settle } = loading()
    const generate: Engine['generate'] = async function* () {
      yield text('Hi')
      yield finish()
    }
    const remove = () => Promise.reject(new V1Error(409, 'It is in a folder.', { code: 'not_downloaded' }))
    const { ask, chat } = serviceOf({ ...engine, generate, remove }, { ...admin, maxInFlight: 1, maxQueue: 5 })
    const waiting = [chat(), chat({ stream: true })]
    await until(() => seen.loads > 0)
    expect(errorOf(await ask(`/models/${MODEL}`, { method: 'DELETE' })).code).toBe('not_downloaded')
    settle()
    for (const answer of await Promise.all(waiting)) expect(answer.text).toContain('Hi')
    expect([seen.loads, seen.stopped]).toEqual([1, []])
  })

  it('is refused where nothing was downloaded', async () => {
    const { ask } = serviceOf('Hello', admin)
    expect(errorOf(await ask(`/models/${MODEL}`, { method: 'DELETE' }))).toMatchObject({ status: 409 })
  })
})

describe('managing models', () => {
  const ways: [string, string][] = [
    ['POST', `/models/${MODEL}/load`],
    ['POST', `/models/${MODEL}/unload`],
    ['DELETE', `/models/${MODEL}`],
  ]

  it.each(ways)('is for admins: %s %s', async (method, path) => {
    const { engine, seen } = loading()
    const { ask } = serviceOf(engine, { manageModels: true })
    expect(errorOf(await ask(path, { method }))).toMatchObject({ status: 403, code: 'admin_only' })
    expect(seen).toEqual({ loads: 0, unloads: 0, removed: 0, stopped: [] })
  })

  it.each(ways)('is off unless the service turns it on: %s %s', async (method, path) => {
    const { engine } = loading()
    const { ask } = serviceOf(engine, { keys: admin.keys })
    expect(errorOf(await ask(path, { method })).status).toBe(405)
  })

  it.each(ways)('knows an unknown model: %s %s', async (method, path) => {
    const { ask } = serviceOf('Hello', admin)
    const expected = { status: 404, code: 'model_not_found' }
    expect(errorOf(await ask(path.replace(MODEL, 'test/none'), { method }))).toMatchObject(expected)
  })

  it('names its methods', async () => {
    const { ask } = serviceOf('Hello', admin)
    for (const [path, allow] of [
      [`/models/${MODEL}`, 'GET, HEAD, DELETE, OPTIONS'],
      [`/models/${MODEL}/load`, 'POST, OPTIONS'],
      ['/models/test%2Fhello/unload', 'POST, OPTIONS'],
    ] as const) {
      const answer = await ask(path, { method: 'PUT' })
      expect([errorOf(answer).status, answer.headers.get('allow')]).toEqual([405, allow])
    }
  })
})

describe('the list of models', () => {
  it('is made after the engine has looked at what is there', async () => {
    let looked = false
    const engine: Engine = {
      get models() {
        return [{ id: MODEL, ownedBy: 'me', metadata: { kept_bytes: looked ? 5 : 0 } }]
      },
      async survey() {
        looked = true
      },
      async *generate() {},
    }
    expect(jsonOf(await serviceOf(engine).ask('/models')).data[0].metadata).toEqual({ kept_bytes: 5 })
  })
})
