import { afterEach, expect, it, vi } from 'vitest'
import { beginSteps, breathe, inTurns } from './turns.js'

const never = new AbortController().signal
const SLICE_MS = 20
const STEP_MS = 2

afterEach(() => void vi.useRealTimers())

/** A clock that only work moves. */
function clock(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ['performance'] })
  return (ms) => void vi.advanceTimersByTime(ms)
}

async function* steps(pass: (ms: number) => void, slices: () => number) {
  for (;;) {
    pass(STEP_MS)
    yield slices()
    await breathe()
  }
}

it('work in slices leaves steps as much time as it takes, however many do such work', async () => {
  const pass = clock()
  let slices = 0
  function* work() {
    for (let i = 0; i < 4; i++) {
      yield
      pass(SLICE_MS)
      slices++
    }
  }
  const end = beginSteps()
  const works = Promise.all([inTurns(work(), never), inTurns(work(), never), inTurns(work(), never)])
  /** How many steps were taken when so many slices were over. */
  const taken = new Array<number>(13).fill(0)
  for await (const over of steps(pass, () => slices)) {
    taken[over]!++
    if (over === 12) break
  }
  end()
  await works
  // The turn of a slice may be that of a step too.
  for (const count of taken.slice(1, 12)) expect(count).toBeGreaterThanOrEqual(SLICE_MS / STEP_MS - 1)
})

it('work in slices does not rest where nobody takes steps', async () => {
  const pass = clock()
  let turns = 0
  let counting = true
  const next = () => {
    turns++
    if (counting) setImmediate(next)
  }
  setImmediate(next)
  beginSteps()()
  function* work() {
    for (let i = 0; i < 10; i++) {
      yield
      pass(SLICE_MS)
    }
  }
  await inTurns(work(), never)
  counting = false
  expect(turns).toBeLessThanOrEqual(12)
})

it('a computer that slept in a slice does not rest as long', async () => {
  const pass = clock()
  const end = beginSteps()
  function* work() {
    pass(24 * 60 * 60 * 1000)
    yield
  }
  let over = false
  const works = inTurns(work(), never).then(() => {
    over = true
  })
  let taken = 0
  for await (const _ of steps(pass, () => 0)) {
    if (over) break
    taken++
  }
  end()
  await works
  expect(taken).toBeLessThanOrEqual(1000 / STEP_MS + 2)
})

it('callers take turns: one who comes late is not behind all that another waits for', async () => {
  const done: string[] = []
  function* work(caller: string) {
    yield
    done.push(caller)
  }
  const works = ['a', 'a', 'a', 'a', 'a', 'b'].map((caller) => inTurns(work(caller), never, caller))
  await Promise.all(works)
  expect(done).toEqual(['a', 'b', 'a', 'a', 'a', 'a'])
})
