import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HostWorker } from './host-worker.js'
import { wrap } from './messages.js'

/** Longer than anything is waited for. */
const LONG_MS = 300_000

class SilentWorker {
  static readonly all: SilentWorker[] = []
  onmessage: (event: { data: unknown }) => void = () => {}
  terminated = false
  constructor() {
    SilentWorker.all.push(this)
  }
  terminate(): void {
    this.terminated = true
  }
}

describe('a page’s worker that says nothing', () => {
  let arrive: () => void
  let controller: object | null

  beforeEach(() => {
    vi.useFakeTimers()
    SilentWorker.all.length = 0
    controller = null
    vi.stubGlobal('Worker', SilentWorker)
    vi.stubGlobal('document', Object.assign(new EventTarget(), { baseURI: 'https://app.example/' }))
    vi.stubGlobal('navigator', {
      locks: {},
      serviceWorker: {
        get controller() {
          return controller
        },
      },
    })
    const here = new Promise<Response>((resolve) => {
      arrive = () => resolve(new Response('the script'))
    })
    vi.stubGlobal('fetch', () => here)
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  function started() {
    const script = { address: '/v1.js', type: 'module' } as const
    const parts = { name: 'test', script, registration: () => undefined, gaveUp: () => {}, onProgress: () => {} }
    const outcome: string[] = []
    new HostWorker(parts).start().then(
      (path) => outcome.push(path),
      ({ code }: { code: string }) => outcome.push(code),
    )
    return outcome
  }
  const ready = () => SilentWorker.all.at(-1)!.onmessage({ data: wrap({ type: 'ready', basePath: '/v1' }) })

  test('is waited for as long as its script is on the way, and loses nothing of it', async () => {
    const outcome = started()
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect([outcome, SilentWorker.all.map(({ terminated }) => terminated)]).toEqual([[], [false]])
    ready()
    await vi.advanceTimersByTimeAsync(0)
    expect(outcome).toEqual(['/v1'])
    arrive()
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(outcome).toEqual(['/v1'])
  })

  test('is given up once its script has been here for a while', async () => {
    const outcome = started()
    arrive()
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(outcome).toEqual(['service_worker_script'])
  })

  test('is asked for once more where a service worker may have kept its script back', async () => {
    controller = {}
    const outcome = started()
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(SilentWorker.all.map(({ terminated }) => terminated)).toEqual([true, false])
    ready()
    await vi.advanceTimersByTimeAsync(0)
    expect(outcome).toEqual(['/v1'])
  })
})
