import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Engine, LoadProgress } from '../../contract/engine.js'
import { Loader, waitFor } from './loader.js'

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
    const told = { status: 503, code: 'model_loading', param: 'model', retryAfter: 5 }
    const message = `The model '${MODEL}' is being loaded.`
    await expect(loader.ready(MODEL, never())).rejects.toMatchObject({ ...told, message })
    begun[0]!.report({ phase: 'download', bytesLoaded: 0, bytesTotal: 0 })
    await expect(loader.ready(MODEL, never())).rejects.toMatchObject({ ...told, message })
    begun[0]!.report({ phase: 'download', bytesLoaded: 1, bytesTotal: 3, secondsLeft: 100 })
    const far = { message: `The model '${MODEL}' is being loaded (download, 33 %).`, retryAfter: 60 }
    await expect(loader.ready(MODEL, never())).rejects.toMatchObject({ ...told, ...far })
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
    expect(loader.ready(MODEL, never())).toBeDefined()
    expect(begun).toHaveLength(2)
    begun[1]!.done()
    await second
    expect(loader.ready(MODEL, never())).toBeUndefined()
  })

  it('is left when the service closes', () => {
    const { begun, loader } = loads()
    void loader.load(MODEL)
    loader.close()
    expect(begun[0]!.signal.reason).toMatchObject({ status: 503, message: 'The service is closing.' })
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
