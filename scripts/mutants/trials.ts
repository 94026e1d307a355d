/** Which mutants the tests find out: each is tried in a thread, and what never ends is told by what it computes. */
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Trial, Trialled } from './worker.js'

/** After so many trials a thread has gathered what they left behind. */
const TRIALS = 40
const TICK = 50
/** Of processor time: a busy machine makes nothing look endless. */
const LEAST_SECONDS = 2
/** Ticks in which nothing is computed: it waits for what will not come. */
const LEAST_IDLE = 40
/** So often anything may be reached, whatever is usual. */
const LEAST_HITS = 100_000
/** Milliseconds of tests that are tried before longer ones: most mutants need no others. */
const QUICK = [30, 300, 3000, Number.POSITIVE_INFINITY]
const OUTSIDE = 'Outside of a test'

export type Fate = 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage'

interface Watch {
  readonly seconds: number
  readonly idle: number
}

const spent = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** A thread of the tests, which is started anew when it is worn. */
class Trials {
  readonly #folder: string
  #worker: Worker | undefined
  #runs = 0
  /** The longest that the last trial stood still, in ticks. */
  idle = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  get isNew(): boolean {
    return this.#runs === 0
  }

  get isWorn(): boolean {
    return this.#runs >= TRIALS
  }

  /** What the tests said; an error that no test caught; or undefined, where they do not come to an end. */
  async run(trial: Trial, most: Watch): Promise<Trialled | undefined> {
    this.#worker ??= this.#start()
    this.#runs++
    const worker = this.#worker
    const watch = new AbortController()
    const { signal } = watch
    const answered = once(worker, 'message', { signal }).then(([result]) => result as Trialled)
    const ended = once(worker, 'exit', { signal }).then(() => ({ failed: 'The process ended.' }))
    const late = this.#late(most, signal)
    worker.postMessage(trial)
    const lost = (error: unknown) => ({ passed: new Map(), reached: new Map(), failed: `${OUTSIDE}: ${error}` })
    const result = await Promise.race([answered, ended.then(({ failed }) => lost(failed)), late]).catch(lost)
    watch.abort()
    await Promise.allSettled([answered, ended, late])
    if (result === undefined || result.failed?.startsWith(OUTSIDE)) await this.close()
    return result
  }

  #start(): Worker {
    const worker = new Worker(join(this.#folder, 'worker.mjs'), { execArgv: [], stdout: true, stderr: true })
    // Between two trials, too.
    worker.on('error', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    return worker
  }

  #late({ seconds, idle }: Watch, signal: AbortSignal): Promise<undefined> {
    const start = spent()
    let before = start
    let still = 0
    this.idle = 0
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        const now = spent()
        still = now - before < 0.002 ? still + 1 : 0
        before = now
        this.idle = Math.max(this.idle, still)
        if (now - start > seconds || still > idle) resolve(undefined)
      }, TICK)
      signal.addEventListener('abort', () => {
        clearInterval(timer)
        resolve(undefined)
      })
    })
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
    this.#worker = undefined
    this.#runs = 0
  }
}

/** A script of tests, without any change. */
interface Known {
  readonly script: string
  /** What it takes to load it. */
  readonly seconds: number
  readonly idle: number
  readonly result: Trialled
}

/**
 * `ids` of mutants in the scripts of `folder`, whose tests pass as they are; those first that few and quick tests reach.
 * `tell` hears of each as soon as it is certain.
 */
export async function fates(
  folder: string,
  scripts: number,
  ids: readonly string[],
  tell: (id: string, fate: Fate) => void = () => {},
): Promise<Map<string, Fate>> {
  const all = Array.from({ length: scripts }, (_, i) => pathToFileURL(join(folder, `${i}.mjs`)).href)
  const trials = new Trials(folder)
  const found = new Map<string, Fate>()
  try {
    // Script by script: a mutant that the first script reaches needs the others only if it outlives that.
    const known: Known[] = []
    for (const script of all) {
      const start = spent()
      const result = await trials.run({ scripts: [script] }, { seconds: Number.POSITIVE_INFINITY, idle: 2400 })
      if (result === undefined || result.failed !== undefined || result.passed.size === 0)
        throw new Error(`The tests fail without any change: ${result?.failed ?? 'they do not end'}`)
      const seconds = Math.max(0, spent() - start - sum(result.passed.values()) / 1000)
      known.push({ script, seconds, idle: trials.idle, result })
    }
    await trials.close()
    /** Found out in the thread that runs: certain once its tests pass without a change behind them. */
    const batch: string[] = []
    /** The tests that have done so, by their scripts. */
    const killers = { scripts: new Set<string>(), names: new Set<string>() }
    const tellAll = () => {
      for (const id of batch.splice(0)) tell(id, found.get(id)!)
      killers.scripts.clear()
      killers.names.clear()
    }
    const settle = async () => {
      // What was left behind may have failed tests of those that came after: then each has a thread of its own.
      if (!trials.isNew) {
        const trial = { scripts: [...killers.scripts], names: [...killers.names] }
        const clean = await trials.run(trial, { seconds: Number.POSITIVE_INFINITY, idle: 2400 })
        await trials.close()
        if (clean?.failed !== undefined || clean === undefined)
          for (const id of batch) found.set(id, await fate(id, true))
      }
      tellAll()
    }
    const fate = async (id: string, alone: boolean): Promise<Fate> => {
      const runs = known.filter(({ result }) => result.reached.has(id))
      // What the quick ones find out need not be tried by the others.
      for (const [i, most] of QUICK.entries()) {
        for (const { script, seconds, idle, result } of runs) {
          const by = result.reached.get(id)!
          const early = by.has(null)
          const chosen = testsThatReach(result, id).filter((name) => {
            const takes = result.passed.get(name) ?? 0
            return takes <= most && (i === 0 || takes > QUICK[i - 1]!)
          })
          if (chosen.length === 0) continue
          // Of these tests alone: a loop without an end is to be found where few steps are usual.
          const usual = by.has(null) ? by.values() : chosen.map((name) => by.get(name)!)
          const hits = Math.max(LEAST_HITS, 100 * sum(usual))
          const trial: Trial = { scripts: [script], mutant: id, early, hits, names: chosen }
          const takes = seconds + sum(chosen.map((name) => result.passed.get(name) ?? 0)) / 1000
          const watch = { seconds: LEAST_SECONDS + 3 * takes, idle: LEAST_IDLE + 3 * idle }
          const wasNew = trials.isNew
          let came = await trials.run(trial, watch)
          if (alone) await trials.close()
          // Somebody else may have left that behind.
          else if (came?.failed?.startsWith(OUTSIDE) && !wasNew) came = await trials.run(trial, watch)
          if (came === undefined) return 'Timeout'
          if (came.failed === undefined) continue
          killers.scripts.add(script)
          for (const name of chosen) killers.names.add(name)
          return 'Killed'
        }
      }
      return runs.length > 0 ? 'Survived' : 'NoCoverage'
    }
    const takes = new Map(
      ids.map((id) => {
        const tests = known.flatMap(({ result }) =>
          testsThatReach(result, id).map((name) => result.passed.get(name) ?? 0),
        )
        return [id, sum(tests)]
      }),
    )
    for (const id of ids.toSorted((a, b) => takes.get(a)! - takes.get(b)!)) {
      const before = trials.isNew
      const came = await fate(id, false)
      found.set(id, came)
      // That thread has ended: nobody is left to ask.
      if (trials.isNew && !before) tellAll()
      // What others left behind may find out one that lives, but lets none live.
      if (came === 'Killed') batch.push(id)
      else tell(id, came)
      if (trials.isWorn) await settle()
    }
    await settle()
  } finally {
    await trials.close()
  }
  return found
}

/** Names of the tests that reach a mutant: all, where loading does. */
function testsThatReach({ reached, passed }: Trialled, id: string): string[] {
  const by = reached.get(id)
  if (by === undefined) return []
  return by.has(null) ? [...passed.keys()] : ([...by.keys()] as string[])
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, number) => total + number, 0)
