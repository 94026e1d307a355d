import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Engine, LoadProgress, ModelInfo } from '../../contract/engine.js'
import { scripted } from '../../engines/scripted.js'
import { posting, serviceOf } from '../v1.test-helper.js'
import { knownModel, Loader, lookedAround, modelIdOf, waitFor } from './loader.js'

const MODEL = 'a/b'
const never = () => new AbortController().signal

/** An engine whose loads end one by one when the test says so, whether or not they are aborted. */
function loads(waitMs = 5) {
  const begun: { report(progress: Partial<LoadProgress>): void; done(): void; signal: AbortSignal }[] = []
  const engine: Engine = {
    models: [],
    async *generate() {},
    load: (model, onProgress, signal) =>
      new Promise((resolve) => {
        const report = (progress: Partial<LoadProgress>) => onProgress({ model, ...progress } as LoadProgress)
        begun.push({ report, done: resolve, signal })
      }),
  }
  return { begun, loader: new Loader(engine, waitMs, () => {}) }
}

describe('a load', () => {
  it('of which nothing is known yet is told without how far it is', async () => {
    const { begun, loader } = loads()
    const loading = { status: 503, code: 'model_loading', param: 'model', retryAfter: 5 }
    const message = `The model '${MODEL}' is being loaded.`
    await expect(loader.ready(MODEL, never(), performance.now())).rejects.toMatchObject({ ...loading, message })
    begun[0]!.report({ phase: 'download', bytesLoaded: 0, bytesTotal: 0 })
    await expect(loader.ready(MODEL, never(), performance.now())).rejects.toMatchObject({ ...loading, message })
    begun[0]!.report({ phase: 'download', bytesLoaded: 1, bytesTotal: 3, secondsLeft: 100 })
    const far = { message: `The model '${MODEL}' is being loaded (download, 33 %).`, retryAfter: 60 }
    await expect(loader.ready(MODEL, never(), performance.now())).rejects.toMatchObject({ ...loading, ...far })
    // All of its weights are there.
    begun[0]!.report({ phase: 'compile', bytesLoaded: 3, bytesTotal: 3, filesLoaded: 1, filesTotal: 4 })
    const compiled = { message: `The model '${MODEL}' is being loaded (compile, 25 %).` }
    await expect(loader.ready(MODEL, never(), performance.now())).rejects.toMatchObject({ ...loading, ...compiled })
  })

  it('that is over after its model was unloaded is not taken for the next one', async () => {
    const { begun, loader } = loads(1000)
    const first = loader.load(MODEL)
    await loader.unload(MODEL)
    expect(begun[0]!.signal.reason).toMatchObject({
      ...{ status: 503, code: 'model_unloaded' },
      message: `The model '${MODEL}' was unloaded while it was being loaded.`,
    })
    const second = loader.load(MODEL)
    // This one does not look at its signal.
    begun[0]!.done()
    await first
    expect(loader.ready(MODEL, never(), performance.now())).toBeDefined()
    expect(begun).toHaveLength(2)
    begun[1]!.done()
    await second
    expect(loader.ready(MODEL, never(), performance.now())).toBeUndefined()
  })

  it('is left when the service closes', () => {
    const { begun, loader } = loads()
    void loader.load(MODEL)
    loader.close()
    expect(begun[0]!.signal.reason).toMatchObject({ status: 503, code: 'closing', message: 'The service is closing.' })
  })
})

describe('whoever waits for it', () => {
  afterEach(() => void vi.useRealTimers())

  it('leaves neither a clock nor a listener behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { signal } = new AbortController()
    const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
    await waitFor(Promise.resolve(), signal, 1000, () => expect.fail('it was in time'))
    // They are let go of in the same turn.
    await new Promise((resolve) => setImmediate(resolve))
    expect(vi.getTimerCount()).toBe(0)
    expect(removed.mock.calls.map(([type, hear]) => [type, hear])).toEqual(
      added.mock.calls.map(([type, hear]) => [type, hear]),
    )
    expect(added).toHaveBeenCalledTimes(1)
  })
})

describe('a model', () => {
  const named = (...ids: string[]) => ids.map((id) => ({ id, ownedBy: 'me' }))

  it('is known once its engine has looked around, and has learned what it can', async () => {
    const steps: string[] = []
    let looked = () => {}
    const engine = {
      models: named(),
      ready: new Promise<void>((resolve) => (looked = resolve)),
      async *generate() {},
      async learn(id: string) {
        steps.push(`learns ${id}`)
        engine.models = [{ id, ownedBy: 'me', capabilities: { tools: false } } as ModelInfo]
      },
    } satisfies Engine
    const known = lookedAround(engine, never()).then(() => knownModel(engine, MODEL, never()))
    engine.models = named(MODEL)
    await new Promise((resolve) => setImmediate(resolve))
    expect(steps).toEqual([])
    looked()
    expect(await known).toMatchObject({ id: MODEL, capabilities: { tools: false } })
    expect(steps).toEqual([`learns ${MODEL}`])
    const left = { models: named(MODEL), ready: new Promise<void>(() => {}), async *generate() {} }
    await expect(lookedAround(left, AbortSignal.abort('gone'))).rejects.toBe('gone')
    expect(await knownModel({ models: named(MODEL), async *generate() {} }, MODEL, never())).toEqual(named(MODEL)[0])
  })

  it('is looked for once its engine has looked around, which each request asks once', async () => {
    let asked = 0
    const engine = Object.defineProperty(scripted({ models: { [MODEL]: 'So.' } }), 'ready', {
      get: () => Promise.resolve(void asked++),
    })
    const { ask } = serviceOf(engine)
    for (const [path, body] of [
      ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
      ['/responses', { input: 'Hi' }],
      ['/completions', { prompt: 'Hi' }],
    ] as const) {
      asked = 0
      expect((await ask(path, posting({ model: MODEL, ...body }))).status).toBe(200)
      expect([path, asked]).toEqual([path, 1])
    }
  })

  it.each([
    ['its own id, before any other name', 'a/b', 'a/b'],
    ['an alias', 'alias', 'a/c'],
    ['an alias, before its name alone', 'c', 'a/b'],
    ['its name alone', 'd', 'x/d'],
    ['its name alone, where that is its whole id', 'plain', 'plain'],
    ['its name with the tag that clients of Ollama list', 'x/d:latest', 'x/d'],
    ['its name alone with a tag', 'd:latest', 'x/d'],
    ['a tag that only begins like that one: none', 'plain:latest-0.6b', 'plain:latest-0.6b'],
    ['a name of Ollama’s own', 'plain:0.6b', 'plain-0.6b'],
    ['a name that two have: neither', 'e', 'e'],
    ['a name behind another namespace: none', 'y/d', 'y/d'],
  ])('is meant by %s', (_, name, meant) => {
    const engine: Engine = {
      models: named('a/b', 'a/c', 'x/d', 'x/e', 'y/e', 'plain', 'plain-0.6b'),
      async *generate() {},
    }
    const aliases = new Map([
      ['a/b', 'a/c'],
      ['alias', 'a/c'],
      ['c', 'a/b'],
    ])
    expect(modelIdOf({ engine, aliases }, name)).toBe(meant)
  })
})
