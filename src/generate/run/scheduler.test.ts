import { afterEach, describe, expect, it, vi } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import { type Sampled, type Sequence, UNDRAWN } from '../../contract/token-model.js'
import { Pulse, showPulse } from '../../platform/index.js'
import type { Lane, LaneScores } from '../answer/lane.js'
import { GREEDY } from '../answer/sampling.js'
import { Drafting } from '../drafts/drafting.js'
import type { Guesser } from '../drafts/guesser.js'
import type { DraftMode } from '../drafts/mode.js'
import { type Drafted, type DraftRoom, FreePath, type Path } from '../drafts/path.js'
import { nextTurn } from '../testing/call.test-helper.js'
import { RandomModel, type RandomModelOptions } from '../testing/random-model.test-helper.js'
import { Scheduler } from './scheduler.js'
import { MAY_BE_PASSED, type Slot } from './slot.js'

const codes = (text: string) => [...text].map((letter) => letter.charCodeAt(0))

it('an answer that replaces tokens while it waits goes on behind those that it has then', async () => {
  /** What the model has read whenever it is asked for a token. */
  const read: string[] = []
  const model = new RandomModel({
    vocabSize: 256,
    before(batch) {
      for (const { sequence, tokens } of batch) {
        read.push(String.fromCharCode(...(sequence as Sequence & { tokens: number[] }).tokens, ...tokens))
      }
    },
  })
  const scheduler = new Scheduler(model, 1)
  let waiting = () => {}
  const waits = new Promise<void>((resolve) => {
    waiting = resolve
  })
  const lane = {
    ...{
      tokens: codes('abc'),
      promptLength: 3,
      kept: 3,
      paused: false as boolean,
      finished: false as boolean,
      foreseeable: false,
    },
    ...{ scores: undefined, remaining: 9, cached() {}, settings: () => GREEDY },
    settle() {
      lane.kept = lane.tokens.length
    },
    take() {
      lane.tokens.push(...codes('xyz'[lane.tokens.length - 3]!))
      lane.paused = lane.tokens.length === 5
      lane.finished = read.length === 3
      if (lane.paused) waiting()
    },
    fail(error: unknown) {
      throw error
    },
  } satisfies Lane
  const slots = scheduler.add([lane])
  await waits
  expect(read).toEqual(['abc', 'abcx'])
  // `x`, which the model has read, becomes another token.
  await new Promise((resolve) => setTimeout(resolve, 1))
  lane.tokens.splice(3, 2, ...codes('Xy'))
  Object.assign(lane, { kept: 3, paused: false })
  scheduler.poke()
  await slots[0]!.released
  expect(read).toEqual(['abc', 'abcx', 'abcXy'])
  await scheduler.stopped()
})

/** An answer of so many tokens, of whatever the model says. Its prompt's first letter names it. */
class Says implements Lane {
  readonly tokens: number[]
  readonly promptLength: number
  readonly scores: LaneScores | undefined = undefined
  kept: number
  finished = false
  foreseeable = true
  error: unknown
  /** What it was told of the cache. */
  readonly found: number[] = []
  held = 0
  /** How often its place in the cache was taken from it. */
  restarts = 0
  /** How often it was asked whether it is paused. */
  looks = 0
  #paused = false
  readonly length: number
  readonly #onTake: (lane: Says) => void

  constructor(prompt: string, length = 4, onTake: (lane: Says) => void = () => {}) {
    this.length = length
    this.#onTake = onTake
    this.tokens = codes(prompt)
    this.promptLength = this.kept = this.tokens.length
  }
  get generated() {
    return this.tokens.length - this.promptLength
  }
  get remaining() {
    return this.length - this.generated
  }
  get paused() {
    this.looks++
    return this.#paused
  }
  set paused(paused) {
    this.#paused = paused
  }
  settings = () => ({ ...GREEDY, index: this.generated })
  take({ token }: Sampled) {
    this.tokens.push(token)
    this.finished = this.generated >= this.length
    this.#onTake(this)
  }
  settle() {
    this.kept = this.tokens.length
  }
  holds(tokens: number) {
    if (tokens === 0 && this.held > 0) this.restarts++
    this.held = tokens
  }
  cached(tokens: number) {
    this.found.push(tokens)
  }
  fail(error: unknown) {
    this.error = error
    this.finished = true
  }
}

const DOT = 46
/** How many tokens of whom each step reads. */
function scheduled(
  { before, ...options }: Partial<RandomModelOptions> = {},
  ahead = 1,
  ...guessing: [mode?: DraftMode, small?: Guesser]
) {
  const steps: Record<string, number>[] = []
  const model = new RandomModel({
    ...{ vocabSize: 128, next: () => DOT, ...options },
    before(batch) {
      const rows = batch.map(({ sequence, tokens }) => {
        const [first] = [...(sequence as Sequence & { tokens: number[] }).tokens, ...tokens]
        return [String.fromCharCode(first!), tokens.length] as const
      })
      steps.push(Object.fromEntries(rows))
      return before?.(batch)
    },
  })
  const scheduler = new Scheduler(model, ahead, ...guessing)
  const run = async (lane: Lane, more?: Parameters<Scheduler['add']>[1]) => {
    await Promise.all(scheduler.add([lane], more).map(({ released }) => released))
  }
  return { model, scheduler, steps, run, all: (...lanes: Lane[]) => Promise.all(lanes.map((lane) => run(lane))) }
}
/** What a model says to these, who are told apart by their first letters: it has read just what they have. */
const hears = (lanes: readonly Says[]) => (tokens: readonly number[]) => {
  expect(tokens).toEqual(lanes.find((lane) => lane.tokens[0] === tokens[0])!.tokens)
  return DOT + (tokens.length % 7)
}
const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await nextTurn()
}

describe('the steps of a model', () => {
  it('begin with all that came together, and end when nobody is left', async () => {
    const { scheduler, model, steps, all } = scheduled()
    expect(scheduler.idle).toBe(true)
    const done = all(new Says('a', 2), new Says('bb', 3))
    expect(scheduler.idle).toBe(false)
    await done
    await scheduler.stopped()
    expect(steps).toEqual([{ a: 1, b: 2 }, { a: 1, b: 1 }, { b: 1 }])
    expect([scheduler.idle, scheduler.failure, model.openSequences]).toEqual([true, undefined, 2])
  })

  it('are not over as long as somebody waits for a place', async () => {
    const idle: boolean[] = []
    const { scheduler, all } = scheduled({ maxBatch: 1, before: () => void idle.push(scheduler.idle) })
    await all(new Says('a', 2), new Says('b', 2))
    expect(idle).toEqual([false, false, false, false])
  })

  it('leave the event loop its turns, and cost none where everybody pauses', async () => {
    const { scheduler, run, steps } = scheduled()
    let ended = false
    const long = new Says('a', 40)
    void run(long).then(() => {
      ended = true
    })
    await turns(10)
    expect([ended, steps.length > 2]).toEqual([false, true])
    long.paused = true
    await turns(3)
    const before = [long.looks, steps.length]
    await turns(10)
    expect([long.looks, steps.length]).toEqual(before)
    long.paused = false
    scheduler.poke()
    await scheduler.stopped()
    await turns(1)
    expect(ended).toBe(true)
  })

  it('wait for who pauses only where nobody else goes on', async () => {
    const { run, steps } = scheduled()
    const pausing = new Says('a', 9, (lane) => {
      lane.paused = lane.generated === 2
    })
    void run(pausing)
    await run(new Says('b', 6))
    expect(steps.map(({ a = 0, b = 0 }) => [a, b])).toEqual([[1, 1], [1, 1], ...new Array(4).fill([0, 1])])
  })

  it('are not over where one pauses and another finds no room to be read', async () => {
    const { run } = scheduled()
    void run(
      new Says('a', 9, (lane) => {
        lane.paused = true
      }),
    )
    await turns(4)
    let calls = 0
    const pieces = {
      floor: (at: number) => at,
      next: (_: number, most: number) => (calls++ < 3 ? 0 : most),
      least: () => 0,
    }
    const lane = Object.assign(new Says('bcd', 3), { pieces })
    await run(lane)
    expect([calls > 3, lane.generated]).toEqual([true, 3])
  })

  it('show whose answer they are at while it takes a token', async () => {
    const pulse = new Pulse()
    showPulse(pulse.memory)
    const at: unknown[] = []
    const { run } = scheduled()
    for (const request of ['a call', undefined]) {
      const lane = new Says('a', 1, () => void at.push(pulse.doing))
      await run(Object.assign(lane, request && { request }))
    }
    expect(at).toEqual(['a call', ''].map((of) => ({ stage: 'mask', of })))
  })

  it('do not run ahead where the model cannot', async () => {
    const { run, steps } = scheduled({}, 8)
    await run(new Says('a', 3))
    expect(steps).toEqual([{ a: 1 }, { a: 1 }, { a: 1 }])
  })

  it('guess where that is asked for and several tokens of an answer are drawn', () => {
    const guesses = (maxSamples: number | undefined, mode?: 'gaining') =>
      new Scheduler(new RandomModel({ vocabSize: 9, ...(maxSamples && { maxSamples }) }), 1, mode).guesses
    expect([guesses(8), guesses(1, 'gaining'), guesses(undefined, 'gaining')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(guesses(2, 'gaining')).toMatchObject({ copy: { right: 0, wrong: 0 } })
  })
})

describe('who leaves', () => {
  it('in the midst of a step goes behind it, and nothing stays of what was read', async () => {
    let leave = () => {}
    const { scheduler, model, all, run, steps } = scheduled({
      before: () => {
        if (steps.length === 2) leave()
      },
    })
    const [left, other] = [new Says('abc', 9), new Says('b', 4)]
    const slots = scheduler.add([left])
    let gone = false
    leave = () => {
      void scheduler.cancel(slots).then(() => {
        gone = true
        // That of the other.
        expect(model.openSequences).toBe(1)
      })
      expect([gone, model.openSequences]).toEqual([false, 2])
    }
    await all(other)
    expect([gone, left.generated, other.generated]).toEqual([true, 1, 4])
    expect(steps.slice(2)).toEqual([{ b: 1 }, { b: 1 }])
    const again = new Says('abcd', 1)
    await run(again)
    expect(again.found).toEqual([0])
  })

  it('while nothing runs is gone at once, and who has not begun never begins', async () => {
    const { scheduler, model, steps } = scheduled({ maxBatch: 1 })
    void scheduler.cancel(scheduler.add([new Says('c')]))
    expect(scheduler.idle).toBe(true)
    const first = new Says('a', 30)
    const slots = [first, new Says('b')].flatMap((lane) => scheduler.add([lane]))
    await turns(4)
    void scheduler.cancel(slots)
    expect([scheduler.idle, model.openSequences]).toEqual([true, 0])
    await scheduler.stopped()
    const pausing = new Says('a', 9, (lane) => {
      lane.paused = true
    })
    const [slot] = scheduler.add([pausing])
    await turns(4)
    const before = steps.length
    await scheduler.cancel([slot!])
    await scheduler.stopped()
    expect([steps.length, first.error, pausing.error, model.openSequences]).toEqual([before, undefined, undefined, 0])
    expect(steps.every((step) => !('b' in step))).toBe(true)
  })

  it('once it has its answer leaves what was read to others', async () => {
    const { scheduler, run } = scheduled()
    const slots: Slot[] = []
    const first = new Says('abcd', 3, ({ finished }) => {
      if (finished) void scheduler.cancel(slots)
    })
    slots.push(...scheduler.add([first]))
    await slots[0]!.released
    const next = new Says('abcd..x', 1)
    await run(next)
    expect(next.found).toEqual([6])
  })
})

describe('what was read', () => {
  it('of tokens that were replaced is no beginning of others', async () => {
    const { run, model } = scheduled()
    const first = new Says('abc', 1, (lane) => {
      lane.tokens.splice(2, 2, ...codes('de'))
      lane.kept = 2
    })
    await run(first)
    const read: string[] = []
    const step = model.step.bind(model)
    model.step = async (batch) => {
      const results = await step(batch)
      for (const { sequence } of batch)
        read.push(String.fromCharCode(...(sequence as Sequence & { tokens: number[] }).tokens))
      return results
    }
    const next = new Says('abdef', 1)
    await run(next)
    expect([next.found, read]).toEqual([[2], ['abdef']])
  })

  it('of tokens that were replaced while an answer waited is none either, where it ends so', async () => {
    const { scheduler, run } = scheduled()
    const first = new Says('abc', 9, (lane) => {
      lane.paused = lane.generated === 3
    })
    const [slot] = scheduler.add([first])
    await turns(8)
    expect(first.held).toBe(5)
    first.tokens.splice(2, 4, ...codes('xyz'))
    Object.assign(first, { kept: 2, finished: true })
    scheduler.poke()
    await slot!.released
    const next = new Says('abxyz', 1)
    await run(next)
    expect(next.found).toEqual([2])
  })

  it('is told, and of who starts over no gift of an earlier call', async () => {
    const { run } = scheduled()
    const lane = new Says('abcdef', 2)
    await run(lane)
    expect([lane.found, lane.held]).toEqual([[0], 7])
    const [first, second] = [new Says('abcdefgh', 2), new Says('abcdefgh', 2)]
    const { scheduler } = scheduled()
    await Promise.all(scheduler.add([first, second]).map(({ released }) => released))
    expect([first.found, second.found]).toEqual([[0], []])
  })
})

describe('an end of all', () => {
  it('comes behind the step that runs, to all but those that have their answer', async () => {
    const broken = new Error('gone')
    const lanes = [new Says('a', 2), new Says('b', 9), new Says('c', 9)]
    let meanwhile: unknown[] = []
    const { scheduler, model, steps } = scheduled({
      maxBatch: 2,
      before(batch) {
        if (steps.length < 2) return
        scheduler.stop(broken)
        scheduler.stop(new Error('another'))
        meanwhile = [
          ...batch.map(({ sequence }) => (sequence as Sequence & { closed: boolean }).closed),
          scheduler.idle,
        ]
      },
    })
    const slots = lanes.flatMap((lane) => scheduler.add([lane]))
    lanes[0]!.finished = false
    await Promise.all(slots.map(({ released }) => released))
    await scheduler.stopped()
    expect(meanwhile).toEqual([false, false, false])
    expect(lanes.map(({ error }) => error)).toEqual([broken, broken, broken])
    expect([steps.length, scheduler.failure, model.openSequences, scheduler.idle]).toEqual([2, broken, 0, true])
    expect(() => scheduler.add([new Says('d')])).toThrow(broken)
  })

  it('takes no answer from who has it', async () => {
    const { scheduler, run } = scheduled()
    const lane = new Says('a', 1, () => scheduler.stop(new Error('gone')))
    await run(lane)
    expect(lane.error).toBeUndefined()
  })

  it('frees at once where nothing runs, also those that pause', async () => {
    const { scheduler, model, run } = scheduled()
    await run(new Says('a', 2))
    await scheduler.stopped()
    expect(model.openSequences).toBe(1)
    const pausing = new Says('b', 9, (lane) => {
      lane.paused = true
    })
    const [slot] = scheduler.add([pausing])
    await turns(4)
    scheduler.stop(new Error('unloaded'))
    expect([model.openSequences, scheduler.idle]).toEqual([0, true])
    await slot!.released
    await scheduler.stopped()
    expect(pausing.error).toMatchObject({ message: 'unloaded' })
  })

  it('is a step that fails, with what a model says of itself or else a word of ours', async () => {
    for (const [thrown, expected] of [
      [new Error('lost'), { code: 'engine_failed', message: 'The model stopped working: lost' }],
      [new V1Error(503, 'full', { code: 'cache_full' }), { code: 'cache_full' }],
    ] as const) {
      const { scheduler, run } = scheduled({
        before: () => {
          throw thrown
        },
      })
      const lane = new Says('a')
      await run(lane)
      expect([lane.error, scheduler.failure]).toEqual([expect.objectContaining(expected), lane.error])
    }
  })
})

describe('an answer that fails', () => {
  it('does so alone, and nobody goes on from what is no number', async () => {
    const { scheduler, model, run, all } = scheduled({ next: (tokens) => (tokens[0] === 97 ? UNDRAWN : DOT) })
    const [bad, good] = [new Says('abc', 4), new Says('bc', 4)]
    await all(bad, good)
    expect(bad.error).toMatchObject({ code: 'model_output_invalid' })
    expect([good.generated, good.error, scheduler.failure]).toEqual([4, undefined, undefined])
    const again = new Says('abcd', 1)
    await run(again)
    expect(again.found).toEqual([0])
    expect(model.openSequences).toBe(1)
  })

  it('where it takes a token, or says how one is drawn, stops nobody else', async () => {
    const broken = new Error('grammar')
    const { all, steps, scheduler } = scheduled()
    const takes = new Says('a', 4, () => {
      throw broken
    })
    const says = new Says('b', 4)
    says.settings = () => {
      throw broken
    }
    const good = new Says('c', 3)
    await all(takes, says, good)
    expect([takes.error, says.error, good.error, good.generated]).toEqual([broken, broken, undefined, 3])
    expect(steps).toEqual([{ a: 1, c: 1 }, { c: 1 }, { c: 1 }])
    const alone = new Says('d', 4)
    alone.settings = says.settings
    await all(alone)
    expect([alone.error, steps.length, scheduler.failure]).toEqual([broken, 3, undefined])
  })
})

describe('a place in the batch', () => {
  const fill = (letters: string, length = 30) => [...letters].map((letter) => new Says(letter, length))

  it('is free for a caller who has none, while others have several', async () => {
    const { scheduler, run, steps } = scheduled({ maxBatch: 2 })
    const theirs = fill('abc')
    const over = theirs.map((lane) => run(lane, { caller: 'they' }))
    await turns(6)
    await run(new Says('m', 5), { caller: 'me' })
    const first = steps.findIndex((step) => 'm' in step)
    expect(steps.slice(first, first + 5).every((step) => step.m === 1)).toBe(true)
    expect(theirs[0]!.generated).toBeLessThan(20)
    await Promise.all(over)
    expect(scheduler.idle).toBe(true)
  })

  it('is taken by nobody who pauses', async () => {
    const { run, scheduler } = scheduled({ maxBatch: 2 })
    for (const letter of 'ab') {
      void run(
        new Says(letter, 9, (lane) => {
          lane.paused = true
        }),
      )
    }
    await turns(4)
    const lane = new Says('m', 3)
    await run(lane)
    expect(lane.generated).toBe(3)
    scheduler.stop(new Error('over'))
  })

  it('is shared beside a guest in turns where a row takes time of its own, by as few as attend to little', async () => {
    const POSITIONS = 20
    const CROWDS = 8
    /** What those of the crowd attend to in each step, in rows. */
    const prices: number[] = []
    const { run, steps } = scheduled({
      ...{ maxBatch: 9, maxChunk: 8 * CROWDS, rowPositions: POSITIONS },
      before(batch) {
        const held = batch.map(({ sequence }) => (sequence as Sequence & { tokens: number[] }).tokens)
        const theirs = held.filter(([first]) => first !== 109)
        prices.push(theirs.reduce((sum, { length }) => sum + 1 + length / POSITIONS, 0))
      },
    })
    const crowd = [...'abcdefgh'].map((letter) => new Says(letter.padEnd(60, '-'), 80))
    const over = crowd.map((lane) => run(lane, { caller: 'they' }))
    while (crowd.some(({ generated }) => generated < 2)) await nextTurn()
    const counts = crowd.map((lane) => lane.generated)
    const before = steps.length
    await run(new Says('m', 24), { caller: 'me' })
    const beside = prices.slice(before).filter((_, i) => 'm' in steps[before + i]!)
    expect([beside.length >= 24, Math.max(...beside) <= CROWDS]).toEqual([true, true])
    expect(Math.max(...prices.slice(0, before))).toBeGreaterThan(CROWDS)
    const more = crowd.map((lane, i) => lane.generated - counts[i]!)
    expect(Math.max(...more) - Math.min(...more)).toBeLessThanOrEqual(2)
    await Promise.all(over)
    expect(crowd.map((lane) => [lane.generated, lane.error])).toEqual(crowd.map(() => [80, undefined]))
  })

  it('goes to callers in turns, if they are more than the places', async () => {
    const { run, steps } = scheduled({ maxBatch: 2 })
    const over = fill('abc', 120).map((lane, i) => run(lane, { caller: String(i) }))
    await turns(20)
    const before = steps.length
    await run(new Says('m', 20), { caller: 'm' })
    // One of two in every second step, once it has begun.
    expect(steps.length - before).toBeLessThan(2 * (20 + 12))
    await Promise.all(over)
  })

  it.each([
    ['nobody says whose they are', 2, undefined],
    ['one sequence is held at a time', 1, 'me'],
    ['it has one already', 2, 'they'],
  ])('comes when it is its turn where %s', async (_, maxBatch, caller) => {
    const { run, steps } = scheduled({ maxBatch })
    const theirs = fill('abc'.slice(0, maxBatch))
    const over = theirs.map((lane) => run(lane, { caller: 'they' }))
    await turns(6)
    await run(new Says('m', 5), caller === undefined ? {} : { caller })
    await Promise.all(over)
    expect(steps.findIndex((step) => 'm' in step)).toBeGreaterThanOrEqual(30)
  })

  it('is given by further choices of a call, whose prompt is read once', async () => {
    const { scheduler, model, run, steps } = scheduled({
      maxBatch: 3,
      maxChunk: 8,
      next: (tokens) => DOT + (tokens.length % 7),
    })
    const choices = Array.from({ length: 5 }, () => new Says(`a${'b'.repeat(15)}`, 12))
    const over = Promise.all(scheduler.add(choices).map(({ released }) => released))
    while (choices[2]!.generated < 2) await nextTurn()
    expect(choices.map(({ generated }) => generated > 0)).toEqual([true, true, true, false, false])
    // Nor do the others hold anything yet.
    expect(model.openSequences).toBe(3)
    const before = steps.length
    await run(new Says('m', 5))
    expect(steps.length - before).toBeLessThan(5 + 4)
    await over
    expect(choices.map(({ generated }) => generated)).toEqual([12, 12, 12, 12, 12])
    expect(choices.map(({ found }) => found.length)).toEqual([1, 0, 0, 0, 0])
    // The prompt once, its last token for each choice, all that is said but the last, and the other call.
    const read = model.steps.flat().reduce((sum, { tokens }) => sum + tokens, 0)
    expect(read).toBeLessThanOrEqual(16 + 4 + 5 * 11 + 5)
  })
})

describe('where the cache is short', () => {
  const prompt = (letter: string, length = 20) => letter.padEnd(length, '-')

  it('who pauses gives way, and comes to the same answer later', async () => {
    const { scheduler, model, run, all } = scheduled({ pages: 4, next: (tokens) => 48 + (tokens.length % 10) })
    const pausing = new Says(prompt('a'), 30, (lane) => {
      lane.paused = lane.generated === 2
    })
    const first = run(pausing)
    await turns(8)
    expect([pausing.held, pausing.restarts]).toEqual([21, 0])
    await all(new Says(prompt('b'), 30))
    expect([pausing.held, pausing.restarts]).toEqual([0, 1])
    pausing.paused = false
    scheduler.poke()
    await first
    // What it finds then is its own.
    expect(pausing.found).toEqual([0])
    expect(String.fromCharCode(...pausing.tokens.slice(20))).toBe('0123456789'.repeat(3))
    scheduler.stop(new Error('over'))
    expect([model.freePages, model.openSequences]).toEqual([4, 0])
  })

  it('is given to no one who need not hear of it', async () => {
    const { all } = scheduled({ pages: 6, maxBatch: 3 })
    const lanes = ['a', 'b', 'c'].map((letter) => Object.assign(new Says(prompt(letter), 40), { holds: undefined }))
    await all(...(lanes as unknown as Says[]))
    expect(lanes.map(({ generated, error }) => [generated, error])).toEqual(lanes.map(() => [40, undefined]))
  })

  it('the oldest keeps its own, and all come to their end', async () => {
    const { all, model, scheduler } = scheduled({ pages: 6, maxBatch: 3 })
    const lanes = ['a', 'b', 'c'].map((letter) => new Says(prompt(letter), 40))
    await all(...lanes)
    expect(lanes.map(({ generated, error }) => [generated, error])).toEqual(lanes.map(() => [40, undefined]))
    expect(lanes[0]!.restarts).toBe(0)
    expect(lanes[1]!.restarts + lanes[2]!.restarts).toBeGreaterThan(0)
    await scheduler.stopped()
    scheduler.stop(new Error('over'))
    expect([model.freePages, model.openSequences]).toEqual([6, 0])
  })

  it('further choices of a call give way to other calls', async () => {
    const { scheduler, run } = scheduled({ pages: 10, maxBatch: 4 })
    const choices = [new Says(prompt('a'), 40), new Says(prompt('a'), 40)]
    const over = Promise.all(scheduler.add(choices).map(({ released }) => released))
    await turns(6)
    const other = new Says(prompt('m'), 40)
    await run(other)
    await over
    expect([other.restarts, choices[1]!.restarts > 0]).toEqual([0, true])
    expect(choices.map(({ generated }) => generated)).toEqual([40, 40])
  })

  it('what needs little is let in by who has more than its share, until that was passed often enough', async () => {
    const { run, steps } = scheduled({ pages: 8, maxBatch: 4 })
    const long = ['a', 'b'].map((letter) => new Says(prompt(letter, 40), 60))
    let ended = false
    const over = Promise.all(long.map((lane) => run(lane))).then(() => {
      ended = true
    })
    while (long[0]!.generated < 20) await nextTurn()
    const before = steps.length
    await run(new Says('m', 3))
    expect(steps.length - before).toBeLessThan(3 + 5)
    let came = 0
    const stream = Array.from({ length: 4 }, async () => {
      while (!ended && came++ < 400) await run(new Says('n', 3))
    })
    await over
    expect(came).toBeLessThan(300)
    expect(long.map(({ generated, error }) => [generated, error])).toEqual(long.map(() => [60, undefined]))
    await Promise.all(stream)
  })

  it.each([
    [0, true],
    [MAY_BE_PASSED - 1, true],
    [MAY_BE_PASSED, false],
  ])(
    'what needs little takes the place of the youngest of more than its share, passed %i times: %s',
    async (passed, gives) => {
      const { scheduler, run } = scheduled({ pages: 11, maxBatch: 4 })
      const long = ['a', 'b'].map((letter) => new Says(prompt(letter, 40), 15))
      const slots = long.flatMap((lane) => scheduler.add([lane]))
      slots[1]!.passed = passed
      // Each has four pages then, and what comes takes as many.
      while (long[1]!.held < 50) await nextTurn()
      expect(long.map(({ restarts }) => restarts)).toEqual([0, 0])
      await run(new Says(prompt('m', 40), 3))
      await Promise.all(slots.map(({ released }) => released))
      expect(long.map(({ restarts, generated }) => [restarts > 0, generated])).toEqual([
        [false, 15],
        [gives, 15],
      ])
      // What went before it then counts.
      expect(slots.map((slot) => slot.passed)).toEqual([0, passed + Number(gives)])
    },
  )

  it('so many that need little go before one that waits for room, and no more', async () => {
    const { scheduler, run } = scheduled({ pages: 32, maxBatch: 16 })
    const writing = new Says(prompt('a', 100), 150)
    const over = scheduler.add([writing], { caller: 'they' })
    await turns(4)
    const [large] = scheduler.add([new Says(prompt('l', 420), 1)], { caller: 'they' })
    while (!large!.lacksRoom) await nextTurn()
    // Of a caller who has none, but not little; and one behind it that nobody has let pass.
    await run(new Says(prompt('m', 60), 1), { caller: 'me' })
    expect(large!.passed).toBe(0)
    const [behind] = scheduler.add([new Says(prompt('k', 420), 1)], { caller: 'they' })
    let before = 0
    while (!writing.finished) {
      await run(new Says('n', 1), { caller: 'me' })
      if (!writing.finished) before++
    }
    expect([before, behind!.passed]).toEqual([MAY_BE_PASSED, 0])
    await Promise.all([...over, large!, behind!].map(({ released }) => released))
  })

  it('the youngest gives way where nobody has more than an equal share', async () => {
    const { all } = scheduled({ pages: 10, maxBatch: 5, maxChunk: 128 })
    // One token of the last is too many once the second has its share and no more.
    const lanes = [new Says(prompt('a', 50), 16), new Says(prompt('b', 20), 14), new Says(prompt('c', 5), 20)]
    await all(...lanes)
    expect(lanes.map(({ restarts, generated }) => [restarts > 0, generated])).toEqual([
      ...[
        [false, 16],
        [false, 14],
      ],
      [true, 20],
    ])
  })

  it.each([
    [12, true],
    [13, false],
  ])('a prompt of %i begins where what two write while it is read finds a page: %s', async (length, begins) => {
    const { run } = scheduled({ pages: 2 })
    const lane = new Says(prompt('m', length), 1)
    let begun = false
    const other = new Says('b', 14, () => {
      begun ||= lane.found.length > 0
    })
    const over = run(other)
    while (other.generated === 0) await nextTurn()
    await run(lane)
    await over
    expect(begun).toBe(begins)
  })

  it('what is there already needs no room', async () => {
    const { run, all, steps } = scheduled({ pages: 8 })
    const first = new Says(prompt('a', 60), 1)
    await run(first)
    const before = steps.length
    await all(new Says(prompt('b', 17), 9), new Says(`${prompt('a', 60)}end`, 1))
    expect(steps.slice(before).some(({ a, b }) => a === 3 && b !== undefined)).toBe(true)
  })

  it('who is alone begins, though there is no room for all that might be', async () => {
    const { run } = scheduled({ pages: 2 })
    const lane = new Says(prompt('a', 31), 1)
    await run(lane)
    expect([lane.generated, lane.error]).toEqual([1, undefined])
  })

  it('and a step that found none was the last, all is freed at once', async () => {
    const { scheduler, model, run } = scheduled({ pages: 6, endsAt: 2 })
    const lane = new Says(prompt('a'), 400)
    await run(lane)
    expect([lane.error, model.missing > 0]).toEqual([expect.objectContaining({ code: 'out_of_memory' }), true])
    await scheduler.stopped()
    scheduler.stop(new Error('over'))
    expect(model.openSequences).toBe(0)
  })

  it.each([{}, { follows: true }, { ahead: true }])(
    'and turns out to grow no further, it costs nobody an answer: %j',
    async (way) => {
      // The last third of it is not there.
      const { all, model, scheduler } = scheduled({ pages: 30, endsAt: 10, ...way }, 4)
      const lanes = ['a', 'b', 'c'].map((letter) => new Says(prompt(letter), 120))
      await all(...lanes)
      expect(lanes.map(({ generated, error }) => [generated, error])).toEqual(lanes.map(() => [120, undefined]))
      expect([model.missing > 0, scheduler.failure]).toEqual([true, undefined])
      const more = new Says(prompt('d'), 400)
      await all(more)
      expect(more.error).toMatchObject({ status: 503, code: 'out_of_memory' })
      await all(new Says(prompt('e'), 9))
      await scheduler.stopped()
      scheduler.stop(new Error('over'))
      expect(model.openSequences).toBe(0)
    },
  )

  it('what alone finds no room is told so, and nobody after it', async () => {
    const { run, scheduler, model } = scheduled({ pages: 2 })
    const lane = new Says(prompt('a'), 30)
    await run(lane)
    expect(lane.error).toMatchObject({
      status: 503,
      code: 'out_of_memory',
      message: expect.stringContaining('no memory left'),
    })
    const next = new Says(prompt('b', 9), 3)
    await run(next)
    expect([next.generated, next.error, scheduler.failure]).toEqual([3, undefined, undefined])
    await scheduler.stopped()
    expect(model.openSequences).toBe(1)
  })
})

describe('a sequence that is for so many tokens', () => {
  function ofLengths(border: number, options: Partial<RandomModelOptions> = {}, ahead = 1) {
    const made = scheduled({ maxBatch: 1, ...options }, ahead)
    const opened: (number | undefined)[] = []
    const open = made.model.open.bind(made.model)
    made.model.open = (length?: number) => {
      opened.push(length)
      return Object.assign(open(), { lengths: length! <= border ? [0, border] : [border + 1, 999] })
    }
    return { ...made, opened }
  }

  it('is left for another where an answer outgrows it', async () => {
    const { run, opened, steps } = ofLengths(8)
    const lane = new Says('abcde', 9)
    await run(lane)
    expect([opened, lane.generated, lane.restarts]).toEqual([[5, 9], 9, 1])
    // Each token once, and all that was there once more.
    expect(steps.map(({ a }) => a)).toEqual([5, 1, 1, 1, 9, 1, 1, 1, 1])
  })

  it('is not run beyond ahead of what is read', async () => {
    const { run, opened, model } = ofLengths(8, { ahead: true }, 16)
    const runs: number[] = []
    const ahead = model.run!
    Object.assign(model, {
      run: (batch: never, steps: number) => {
        runs.push(steps)
        return ahead(batch, steps)
      },
    })
    const lane = new Says('abcde', 9)
    await run(lane)
    expect([lane.generated, opened, runs]).toEqual([9, [5, 9], [3, 5]])
  })
})

describe('steps ahead', () => {
  function ahead(options: Partial<RandomModelOptions> = {}) {
    const made = scheduled({ ahead: true, ...options }, 8)
    const runs: number[] = []
    const run = made.model.run!
    Object.assign(made.model, {
      run: (batch: never, steps: number) => {
        runs.push(steps)
        return run(batch, steps)
      },
    })
    return { ...made, runs }
  }

  it('are as many as may be, and no more than an answer has left', async () => {
    const { run, runs, steps } = ahead()
    const lane = new Says('a', 20)
    await run(lane)
    expect([runs, steps.length, lane.generated]).toEqual([[8, 8, 4], 20, 20])
  })

  it('are taken by nobody while others wait or pause', async () => {
    const { all, runs } = ahead({ maxBatch: 1 })
    await all(new Says('a', 9), new Says('b', 1))
    expect(runs).toEqual([])
    const beside = ahead()
    void beside.run(
      new Says('p', 9, (lane) => {
        lane.paused = true
      }),
    )
    await turns(4)
    beside.runs.length = 0
    await beside.run(new Says('a', 9))
    expect(beside.runs).toEqual([])
  })

  it.each<[string, (lane: Says, come: () => void) => void, number]>([
    ['somebody comes', (_, come) => come(), 3],
    ['it pauses', (lane) => void Object.assign(lane, { paused: true }), 3],
    ['something hangs on what was drawn', (lane) => void Object.assign(lane, { foreseeable: false }), 3],
    ['it has its answer', (lane) => void Object.assign(lane, { finished: true }), 3],
  ])('end where %s', async (_, happens, taken) => {
    const { run, runs, steps, scheduler } = ahead()
    let at = 0
    const lane = new Says('a', 20, (self) => {
      if (self.generated !== 3) return
      at = steps.length
      happens(self, () => void run(new Says('m', 1)))
    })
    void run(lane)
    await turns(12)
    expect([runs[0], at]).toEqual([8, taken])
    if (lane.paused || lane.finished) expect(steps).toHaveLength(3)
    else expect(steps[3]).toEqual(lane.foreseeable ? { a: 1, m: 1 } : { a: 1 })
    scheduler.stop(new Error('over'))
    await scheduler.stopped()
  })

  it('end for all where one pauses', async () => {
    const lanes: Says[] = []
    const { run, scheduler } = ahead({ next: hears(lanes) })
    const pausing = new Says('a', 20, (lane) => {
      lane.paused = lane.generated >= 3
    })
    const other = new Says('b', 20)
    lanes.push(pausing, other)
    void run(pausing)
    await run(other)
    expect([pausing.generated, other.generated, scheduler.failure]).toEqual([3, 20, undefined])
    scheduler.stop(new Error('over'))
    await scheduler.stopped()
  })

  it('go on from what an answer has put in the place of what was drawn', async () => {
    const lanes: Says[] = []
    const { run, scheduler } = ahead({ next: hears(lanes) })
    const lane = new Says('a', 20, (self) => {
      self.foreseeable = self.generated !== 3
      if (self.generated === 3) self.tokens.splice(-1, 1, 120)
    })
    lanes.push(lane)
    await run(lane)
    expect([lane.generated, lane.error, scheduler.failure]).toEqual([20, undefined, undefined])
  })

  it.each([
    ['two that were read, or drawn', [120, 121]],
    ['one that was read, before what was drawn', [120, DOT]],
  ])('go on from what an answer has put in the place of %s', async (_, put) => {
    const { run, scheduler, model } = ahead()
    const read: number[][] = []
    const lane = new Says('a', 20, (self) => {
      self.foreseeable = self.generated !== 3
      if (self.generated !== 3) return
      self.tokens.splice(-2, 2, ...put)
      self.kept = self.tokens.length - 2
    })
    const step = model.step.bind(model)
    model.step = async (batch) => {
      const results = await step(batch)
      read.push([...(batch[0]!.sequence as Sequence & { tokens: number[] }).tokens])
      return results
    }
    await run(lane)
    expect([lane.generated, lane.error, scheduler.failure]).toEqual([20, undefined, undefined])
    expect(read.at(-1)).toEqual(lane.tokens.slice(0, -1))
  })

  it('end with the model, in the midst of them', async () => {
    const { run, steps, scheduler, model } = ahead()
    const lane = new Says('a', 20, ({ generated }) => {
      if (generated === 3) scheduler.stop(new Error('gone'))
    })
    await run(lane)
    await scheduler.stopped()
    expect([steps.length, lane.error, model.openSequences]).toEqual([3, scheduler.failure, 0])
  })
})

describe('a pass that begins before it is known how its tokens are drawn', () => {
  function follows(options: Partial<RandomModelOptions> = {}) {
    const made = scheduled({ follows: true, ...options })
    const passes = { begun: 0, over: 0 }
    const follow = made.model.follow!
    Object.assign(made.model, {
      follow: async function* (batch: never) {
        passes.begun++
        try {
          yield* follow(batch)
        } finally {
          passes.over++
        }
      },
    })
    return { ...made, passes }
  }

  it('is begun for each token but the last, for one answer and for several', async () => {
    for (const letters of ['a', 'abc']) {
      const { all, model } = follows()
      const lanes = [...letters].map((letter) => new Says(letter, 9))
      await all(...lanes)
      expect(lanes.map(({ generated }) => generated)).toEqual(lanes.map(() => 9))
      expect(model.begun.used).toBe(8)
      expect(model.begun.all).toBeLessThanOrEqual(9)
    }
  })

  it.each<[string, Partial<Lane>, Partial<RandomModelOptions>]>([
    ['is read in pieces', { pieces: { floor: (at) => at, next: (_, most) => most, least: () => 0 } }, {}],
    ['is read and no more', { reads: 99 }, {}],
    ['has one token left', {}, {}],
  ])('is none where an answer %s', async (_, more) => {
    const { run, model } = follows()
    const lane = Object.assign(new Says('a', Object.keys(more).length === 0 ? 1 : 5), more)
    if (lane.reads) Object.defineProperty(lane, 'reads', { get: () => lane.tokens.length })
    await run(lane)
    expect([lane.generated, model.begun.all]).toEqual([lane.length, 0])
  })

  it('is none where that holds of one of several', async () => {
    const { all, model } = follows()
    const pieces = { floor: (at: number) => at, next: (_: number, most: number) => most, least: () => 0 }
    const lanes = [new Says('a', 9), Object.assign(new Says('b', 9), { pieces })]
    await all(...lanes)
    expect([lanes.map(({ generated }) => generated), model.begun.all]).toEqual([[9, 9], 0])
  })

  it('is begun from the first token on, where nothing is read before it', async () => {
    const { run, model } = follows()
    const open = model.open.bind(model)
    model.open = () => Object.assign(open(), { reach: (length: number) => Math.max(0, length) })
    await run(new Says('a', 6))
    expect(model.begun.used).toBe(5)
  })

  it('is none where a sequence cannot be cut to what it was', async () => {
    const reached = async (reach: (length: number) => number) => {
      const { run, model } = follows({ maxBatch: 1, maxChunk: 2 })
      const open = model.open.bind(model)
      model.open = () => Object.assign(open(), { reach })
      await run(new Says('abc', 6))
      return model.begun.all
    }
    expect(await reached(() => 0)).toBeLessThanOrEqual(1)
    expect(await reached((length) => length)).toBeGreaterThan(3)
  })

  it.each<[string, (lane: Says, come: () => void) => void]>([
    ['somebody comes', (_, come) => come()],
    ['it pauses', (lane) => void Object.assign(lane, { paused: true })],
    ['it has its answer', (lane) => void Object.assign(lane, { finished: true })],
    ['another token takes the place of what was drawn', (lane) => void lane.tokens.splice(-1, 1, 120)],
    ['more follows that no model was asked for', (lane) => void lane.tokens.push(120, 121)],
    ['it cannot say how it goes on', (lane) => void Object.assign(lane, { settings: () => expect.fail('grammar') })],
  ])('is of no use where %s', async (_, happens) => {
    const lanes: Says[] = []
    const { run, steps, model, scheduler, passes } = follows({ next: hears(lanes) })
    let used = -1
    const other = new Says('m', 2)
    let came = false
    const lane = new Says('a', 20, (self) => {
      if (self.generated !== 3) return
      used = model.begun.used
      happens(self, () => {
        came = true
        void run(other)
      })
    })
    lanes.push(lane, other)
    void run(lane)
    await turns(3)
    while (!lane.paused && !lane.finished && lane.generated < 20) await nextTurn()
    expect(used).toBe(2)
    if (lane.generated === 3) expect(model.begun.used).toBeLessThanOrEqual(3)
    if (came) expect(steps).toContainEqual({ a: 1, m: 1 })
    expect([scheduler.failure, passes.over]).toEqual([undefined, passes.begun])
    if (lane.length === lane.generated) expect(lane.error).toBeUndefined()
    scheduler.stop(new Error('over'))
    await scheduler.stopped()
    expect([model.openSequences, model.freePages]).toEqual([0, 512])
  })

  it('is of no use to any where one of them goes on otherwise', async () => {
    const lanes: Says[] = []
    const { all, scheduler } = follows({ next: hears(lanes) })
    lanes.push(
      new Says('a', 9),
      new Says('b', 9, (lane) => {
        if (lane.generated % 3 === 0) lane.tokens.splice(-1, 1, 120)
      }),
    )
    await all(...lanes)
    expect([lanes.map(({ generated }) => generated), scheduler.failure]).toEqual([[9, 9], undefined])
  })

  it('is begun no more for a while where it was of no use again and again', async () => {
    const { run, model } = follows()
    await run(new Says('a', 120, (lane) => void lane.tokens.push(120)))
    expect(model.begun.all).toBeGreaterThan(0)
    expect(model.begun.all).toBeLessThan(model.steps.length / 2)
  })

  it('counts as none where the model has begun none, and nobody is asked how it would go on', async () => {
    const { run, model } = follows()
    let calls = 0
    Object.assign(model, {
      follow: async function* (batch: Parameters<typeof model.step>[0]) {
        calls++
        yield await model.step(batch)
      },
    })
    const lane = new Says('a', 40)
    const settings = vi.spyOn(lane, 'settings')
    await run(lane)
    // All but the last, each anew.
    expect([calls, settings.mock.calls.length]).toEqual([39, 40])
  })

  it('is taken no further for others where one leaves in between', async () => {
    const { scheduler, model, run } = follows()
    const [lane, other] = [new Says('a', 30), new Says('b', 30)]
    const slots = scheduler.add([lane])
    const over = run(other)
    while (lane.generated < 5) await nextTurn()
    const before = model.steps.length
    await scheduler.cancel(slots)
    await over
    expect([other.generated, model.steps.slice(before).every((rows) => rows.length === 1)]).toEqual([30, true])
  })

  it('is left where somebody leaves in between', async () => {
    const { scheduler, model, run } = follows()
    const lane = new Says('a', 30)
    const slots = scheduler.add([lane])
    while (lane.generated < 5) await nextTurn()
    await scheduler.cancel(slots)
    const count = lane.generated
    await run(new Says('b', 2))
    expect([lane.generated, count < 12]).toEqual([count, true])
    await scheduler.stopped()
    expect(model.openSequences).toBe(1)
  })
})

describe('guesses', () => {
  afterEach(() => void vi.restoreAllMocks())
  const truth = ({ length }: { readonly length: number }) => DOT + (length % 7)
  const [BANG, OTHER] = codes('!x') as [number, number]
  const options = { maxSamples: 8, next: truth }

  /** Guesses three draws, each followed by so many tokens that are certain. */
  class Guesses extends Says {
    guessable = true
    draftable = false
    requests = 0
    readonly certain: number
    /** So many of them are in its guesses. */
    foreseen: number
    readonly guess: (right: number, offset: number) => number

    constructor(prompt: string, length: number, guess = (right: number, _offset: number) => right, certain = 0) {
      super(prompt, length)
      this.guess = guess
      this.certain = this.foreseen = certain
    }
    override take({ token }: Sampled) {
      this.tokens.push(token, ...new Array(this.certain).fill(BANG))
      this.finished = this.generated >= this.length
    }
    foresee(room: DraftRoom): Drafted | undefined {
      this.requests++
      const each = 1 + this.foreseen
      const count = Math.min(3, room.draws, Math.floor(Math.min(room.rows, this.remaining - 1) / each))
      if (count <= 0) return undefined
      const tokens: number[] = []
      const draws = Array.from({ length: count + 1 }, (_, i) => {
        const at = tokens.length
        const token = this.guess(truth({ length: this.tokens.length + at }), i)
        if (i < count) tokens.push(token, ...new Array(this.foreseen).fill(this.guess(BANG, i)))
        const guess = { token, kind: 'copy' as const }
        return { at, settings: this.settings(), ...(i < count && { guess }) }
      })
      return { tokens, draws }
    }
    outlook(room: DraftRoom) {
      const path = new FreePath(() => false, this.remaining, room)
      const drafted = ({ tokens, draws }: Path): Drafted => {
        return {
          tokens,
          draws: draws.map(({ at, guess }) => ({ at, settings: this.settings(), ...(guess && { guess }) })),
        }
      }
      return {
        ...{ tokens: path.tokens, free: true, settings: () => this.settings() },
        push: (token: number) => path.push(token, 'model'),
        get drafted() {
          return path.path && drafted(path.path)
        },
      }
    }
  }
  const plain = async (length: number, certain = 0) => {
    const lane = new Guesses('ab', length, undefined, certain)
    await scheduled({ next: truth }).run(lane)
    return lane.tokens
  }

  const isRight = (right: number) => right
  const isFirst = (right: number, offset: number) => (offset ? OTHER : right)
  const isDrawn = (right: number) => (right === BANG ? OTHER : right)
  it.each([
    ['that are right are a step for all', 13, isRight, 0, [2, 4, 4, 4], { right: 9, wrong: 0 }],
    ['cost nothing where they are wrong', 5, () => OTHER, 0, [2, 4, 3, 2, 1], { right: 0, wrong: 3 }],
    ['are taken up to the first that is wrong', 13, isFirst, 0, [2, 4, 4, 4, 4, 4, 2], { right: 6, wrong: 5 }],
    ['are followed by what is certain', 14, isRight, 1, [2, 8, 4], { right: 4, wrong: 0 }],
    ['are over where what follows is another', 8, isDrawn, 1, [2, 6, 3, 1], { right: 2, wrong: 0 }],
  ])('%s', async (_, length, guess, certain, fed, counts) => {
    const { run, steps, scheduler } = scheduled(options, 1, 'always')
    const lane = new Guesses('ab', length, guess, certain)
    await run(lane)
    expect([lane.tokens, lane.error]).toEqual([await plain(length, certain), undefined])
    expect([steps.map(({ a }) => a), scheduler.guesses!.copy]).toEqual([fed, counts])
  })

  it('are made beside others that guess nothing, but not beside one whose prompt is read', async () => {
    const { all, steps } = scheduled({ ...options, maxChunk: 8 }, 1, 'always')
    const lanes = [new Guesses('ab', 30), new Says('c', 30), new Says('d'.repeat(20), 3)]
    await all(...lanes)
    expect(lanes.map(({ generated, error }) => [generated, error])).toEqual(
      [30, 30, 3].map((count) => [count, undefined]),
    )
    for (const { a = 0, d = 0 } of steps.slice(1)) if (d > 1) expect(a).toBe(1)
    expect(Math.max(...steps.map(({ a = 0 }) => a))).toBe(4)
  })

  it('are made for a guest, and lengthen no row of a crowd beside it', async () => {
    const { run, steps } = scheduled({ ...options, rowPositions: 100 }, 1, 'always')
    const crowd = ['ab', 'cd'].map((prompt) => new Guesses(prompt, 90))
    const over = crowd.map((lane) => run(lane, { caller: 'they' }))
    while (crowd[0]!.generated < 9) await nextTurn()
    const before = steps.length
    await run(new Guesses('mn', 13), { caller: 'me' })
    const beside = steps.slice(before).filter((step) => 'm' in step)
    expect(beside.map(({ m }) => m)).toEqual([2, 4, 4, 4])
    for (const { a = 0, c = 0 } of beside) expect(Math.max(a, c)).toBeLessThanOrEqual(1)
    expect(Math.max(...steps.map(({ a = 0 }) => a))).toBeGreaterThan(1)
    await Promise.all(over)
    expect(crowd.map(({ tokens }) => tokens.slice(2))).toEqual([(await plain(90)).slice(2), (await plain(90)).slice(2)])
  })

  it('are none where a sequence cannot be cut, or may soon be outgrown, or has no room', async () => {
    const draftsWith = async (of: object, more: Partial<RandomModelOptions> = {}, length = 9) => {
      const { run, model, steps } = scheduled({ ...options, ...more }, 1, 'always')
      const open = model.open.bind(model)
      model.open = () => Object.assign(open(), of)
      const lane = new Guesses('ab', length)
      await run(lane)
      expect([lane.tokens, lane.error]).toEqual([await plain(length), undefined])
      return [lane.requests > 0, steps.some(({ a }) => a! > 2)]
    }
    expect(await draftsWith({ reach: () => 0 })).toEqual([false, false])
    expect(await draftsWith({ reach: (length: number) => length })).toEqual([true, true])
    expect(await draftsWith({ lengths: [0, 64] })).toEqual([false, false])
    expect(await draftsWith({ lengths: [0, 80] })).toEqual([true, true])
    // It has three tokens then, and sixty-four may come.
    expect(await draftsWith({ lengths: [0, 67] })).toEqual([false, false])
    expect(await draftsWith({ lengths: [0, 68] })).toEqual([true, true])
    // Near its end there is a page for the next token, but none for what is guessed behind it.
    expect(await draftsWith({}, { pages: 3 }, 33)).toEqual([true, true])
  })

  /** Whose end comes before it must. */
  class Stops extends Guesses {
    override get remaining() {
      return 30
    }
  }
  /** Of which nobody knows how it goes on. */
  class Unforeseen extends Guesses {
    override foresee() {
      this.requests++
      return undefined
    }
  }

  it('are taken no further than an answer’s end, or a token that was not foreseen', async () => {
    for (const [lane, wanted] of [
      [new Stops('ab', 6), await plain(6)],
      [Object.assign(new Guesses('ab', 12, undefined, 1), { foreseen: 0 }), await plain(12, 1)],
    ] as const) {
      await scheduled(options, 1, 'always').run(lane)
      expect([lane.tokens, lane.error]).toEqual([wanted, undefined])
    }
  })

  it('are none where they would need a page more than there is', async () => {
    const { run, scheduler, steps } = scheduled({ ...options, pages: 2 }, 1, 'always')
    const lane = new Stops('ab', 14)
    await run(lane)
    expect([lane.tokens, lane.error, scheduler.failure]).toEqual([await plain(14), undefined, undefined])
    // As long as they stay on the first, three behind each token.
    expect(steps.map(({ a }) => a)).toEqual([2, 4, 4, 4, 1])
  })

  it('stand behind all that an answer has, however much of it is not read', async () => {
    const { run } = scheduled({ ...options, maxChunk: 8 }, 1, 'always')
    const lane = new Guesses('ab', 40, undefined, 10)
    await run(lane)
    expect([lane.tokens, lane.error]).toEqual([await plain(40, 10), undefined])
  })

  it('share the rows of a step with all that is read in it', async () => {
    const { all, model } = scheduled({ ...options, maxSamples: 32, fewTokens: 6 }, 1, 'always')
    await all(...['ab', 'cd'].map((prompt) => new Guesses(prompt, 30)))
    const rows = model.steps.map((step) => step.reduce((sum, { tokens }) => sum + tokens, 0))
    expect(Math.max(...rows)).toBe(6)
  })

  it('of others leave steps ahead to whoever is never guessed for', async () => {
    const { run, model } = scheduled({ ...options, ahead: true }, 8, 'always')
    const ahead = vi.spyOn(model as { run: NonNullable<typeof model.run> }, 'run')
    await run(new Says('a', 20))
    const of = vi.spyOn(Drafting.prototype, 'of')
    await run(new Says('b', 20))
    expect(ahead.mock.calls.map(([, steps]) => steps)).toEqual([8, 8, 4, 8, 8, 4])
    expect(of).not.toHaveBeenCalled()
  })

  it.each([{}, { follows: true }, { ahead: true }])(
    'are judged by the tokens, the time and the steps that each choice took: %j',
    async (way) => {
      const reported: { most: number; tokens: number; time: number; steps: number }[] = []
      const of = Drafting.prototype.of
      vi.spyOn(Drafting.prototype, 'of').mockImplementation(function (this: Drafting, ...given) {
        const step = of.apply(this, given)
        const took: typeof step.took = (tokens, time, steps) => {
          reported.push({ most: step.most, tokens, time, steps })
          step.took(tokens, time, steps)
        }
        return { ...step, took }
      })
      for (const lane of [new Unforeseen('abcdefghi', 150), new Guesses('abcdefghi', 150)]) {
        reported.length = 0
        // All but the last of its prompt is read in the first step.
        const { run, model } = scheduled({ ...options, maxChunk: 8, ...way }, 8, 'gaining')
        const begun = performance.now()
        await run(lane)
        const elapsed = performance.now() - begun
        expect(lane.generated).toBe(150)
        const sum = (of: 'tokens' | 'steps' | 'time') => reported.reduce((sum, each) => sum + each[of], 0)
        expect([sum('tokens'), sum('steps')]).toEqual([lane.held - 8, model.steps.length - 1])
        expect(sum('time')).toBeLessThanOrEqual(elapsed)
        // A choice has its steps, several at once where nothing is guessed.
        for (const { most, steps } of reported) expect(steps).toBeLessThanOrEqual(most > 0 ? 1 : 32)
        const several = reported.some(({ steps }) => steps > 1)
        expect(several).toBe(Object.keys(way).length > 0)
      }
    },
  )

  it('are none of a prompt of which every token is scored', async () => {
    const found: number[] = []
    const lane = new Guesses('abcdef', 9)
    const scores = {
      scored: 0,
      open: 5,
      settings: () => GREEDY,
      take(sampled: readonly Sampled[]) {
        found.push(...sampled.map(({ token }) => token))
        scores.scored += sampled.length
        scores.open -= sampled.length
      },
    } satisfies LaneScores
    await scheduled(options, 1, 'always').run(Object.assign(lane, { scores }))
    const all = [1, 2, 3, 4, 5].map((length) => truth({ length }))
    expect(found).toEqual(all)
    expect([lane.generated, lane.error]).toEqual([9, undefined])
    // Nor does any stand among what a model tells that scores one position a step.
    Object.assign(scores, { scored: 0, open: 5 })
    await scheduled({ next: truth }).run(Object.assign(new Says('abcdef', 1), { scores }))
    expect(found).toEqual([...all, ...all])
  })

  it('that are no numbers are an answer’s end, and of no use to others', async () => {
    const next = (tokens: readonly number[]) => (tokens.length === 5 ? UNDRAWN : truth(tokens))
    const { run, scheduler, model } = scheduled({ ...options, next }, 1, 'always')
    const lane = new Guesses('ab', 13)
    await run(lane)
    expect([lane.error, scheduler.failure]).toEqual([
      expect.objectContaining({ code: 'model_output_invalid' }),
      undefined,
    ])
    await scheduler.stopped()
    expect(model.openSequences).toBe(0)
  })

  it('of a step that found no room are forgotten', async () => {
    const { all, model } = scheduled({ ...options, pages: 12, endsAt: 4 }, 1, 'always')
    const lanes = ['a', 'b'].map((letter) => new Guesses(letter.padEnd(20, '-'), 60))
    await all(...lanes)
    expect(lanes.map(({ generated, error }) => [generated, error])).toEqual(lanes.map(() => [60, undefined]))
    expect(model.missing).toBeGreaterThan(0)
  })

  describe('of another model', () => {
    const small = (guess: Guesser['guess']) => {
      const dropped: unknown[] = []
      const made = { lengths: [3], rests: false, knows: () => true, guess, close: async () => {} }
      return { dropped, ...made, drop: (lane: Lane) => void dropped.push(lane), clear: () => void dropped.push('all') }
    }
    const right: Guesser['guess'] = async (requests, most) => {
      for (const { outlook, lane } of requests) {
        for (let i = 0; i < most; i++) outlook.push(truth({ length: lane.tokens.length + i }))
      }
      return 0
    }
    const drafted = (length: number) => Object.assign(new Guesses('ab', length), { guessable: false, draftable: true })

    it('are asked for where nothing else is guessed, and it hears who is over', async () => {
      const guesser = small(right)
      const { run, steps, scheduler } = scheduled(options, 1, 'always', guesser)
      const lane = drafted(13)
      await run(lane)
      expect(lane.tokens).toEqual(await plain(13))
      expect([steps.map(({ a }) => a), scheduler.guesses!.model]).toEqual([[2, 4, 4, 4], { right: 9, wrong: 0 }])
      expect(guesser.dropped).toEqual([lane])
      scheduler.stop(new Error('over'))
      expect(guesser.dropped).toEqual([lane, 'all'])
    })

    it('leave the scheduler at rest where all have left meanwhile', async () => {
      let leave = () => {}
      const guesser = small(async () => {
        leave()
        return 0
      })
      const { scheduler, model, run } = scheduled(options, 1, 'always', guesser)
      await run(new Says('m', 2))
      const slots = scheduler.add([drafted(13)])
      leave = () => void scheduler.cancel(slots)
      await slots[0]!.released
      await scheduler.stopped()
      expect(model.openSequences).toBe(1)
      scheduler.stop(new Error('over'))
      expect(model.openSequences).toBe(0)
    })

    it('are fed by nobody who has left meanwhile, nor by a model that was stopped', async () => {
      for (const [stops, others] of [
        [true, []],
        [false, [{ m: 1 }, { m: 1 }]],
      ] as const) {
        let leave = () => {}
        const { scheduler, model, steps } = scheduled(
          options,
          1,
          'always',
          small(async () => {
            leave()
            return 0
          }),
        )
        const [lane, other] = [drafted(13), new Says('m', 4)]
        const slots = scheduler.add([lane])
        const [stays] = scheduler.add([other])
        while (steps.length === 0) await nextTurn()
        const before = steps.length
        let left = 0
        leave = () => {
          leave = () => {}
          left = steps.length
          if (stops) scheduler.stop(new Error('gone'))
          else void scheduler.cancel(slots)
          // Nobody's sequence goes while another model reads it.
          expect(model.openSequences).toBe(2)
        }
        await Promise.all([...slots, stays!].map(({ released }) => released))
        expect(
          steps
            .slice(before)
            .filter((step) => !('a' in step))
            .slice(0, 2),
        ).toEqual(others)
        expect(steps.slice(left).filter((step) => 'a' in step)).toEqual([])
        expect(lane.generated).toBeLessThan(4)
        expect(other.generated).toBe(stops ? lane.generated : 4)
      }
    })
  })
})
