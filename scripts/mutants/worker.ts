/** Runs bundled tests with at most one mutant active, again and again: the thread that scripts/mutants/trials.ts starts. */
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parentPort } from 'node:worker_threads'
import { startTests, type Task, type Test, type VitestRunner } from '@vitest/runner'

/** What to run, and with which change. */
export interface Trial {
  readonly scripts: readonly string[]
  readonly mutant?: string
  /** It is reached while a file is loaded: it must be active by then. */
  readonly early?: boolean
  /** How often it may be reached before that is taken for a loop without an end. */
  readonly hits?: number
  /** Tests to run, by `fullName`; all of them where absent. */
  readonly names?: readonly string[]
}

export interface Trialled {
  /** The test that failed first, with what it said. */
  readonly failed?: string
  /** Milliseconds of processor time of each test that passed. */
  readonly passed: ReadonlyMap<string, number>
  /** Of each mutant that was reached: how often, and by which tests; null for what no test did, but loading. */
  readonly reached: ReadonlyMap<string, ReadonlyMap<string | null, number>>
}

/** As StrykerJS's instrumented code reads it. */
interface Switch {
  activeMutant?: string
  currentTestId?: string
  mutantCoverage?: { static: Counts; perTest: Record<string, Counts> }
  hitCount?: number
  hitLimit?: number
}
type Counts = Record<string, number>

/** By the clock: whoever starts this looks at what is computed instead. */
const LONGEST = Number.POSITIVE_INFINITY
const globals = globalThis as unknown as { __stryker__: Switch; __vitest_worker__: object }
globals.__stryker__ = {}
// What vitest's `expect` and `vi` ask for of the process that runs them.
globals.__vitest_worker__ = {
  config: { expect: {}, fakeTimers: {}, snapshotOptions: {}, sequence: {}, testTimeout: LONGEST, root: process.cwd() },
  ctx: {},
  environment: { name: 'node' },
  providedContext: {},
  durations: {},
  rpc: {},
}
const { vi } = await import('vitest')
let runs = 0

export const fullName = ({ name, suite, file }: Test): string => {
  const names = [name]
  for (let at = suite; at && at !== (file as unknown); at = at.suite) names.unshift(at.name)
  return names.join(' > ')
}

const testsOf = (task: Task): Test[] => (task.type === 'test' ? [task] : task.tasks.flatMap(testsOf))

async function run({ scripts, mutant, early, hits, names }: Trial): Promise<Trialled> {
  const ns = globals.__stryker__
  ns.activeMutant = early ? mutant : undefined
  ns.mutantCoverage = { static: {}, perTest: {} }
  ns.hitCount = hits === undefined ? undefined : 0
  ns.hitLimit = hits
  runs++
  let failed: string | undefined
  const passed = new Map<string, number>()
  let begun = process.cpuUsage()
  const wanted = names && new Set(names)
  const runner: VitestRunner = {
    config: {
      root: process.cwd(),
      setupFiles: [],
      name: undefined,
      passWithNoTests: true,
      testNamePattern: undefined,
      allowOnly: false,
      sequence: { seed: 1, hooks: 'stack', setupFiles: 'list' },
      chaiConfig: undefined,
      maxConcurrency: 1,
      testTimeout: LONGEST,
      hookTimeout: LONGEST,
      retry: 0,
      includeTaskLocation: false,
      tags: [],
      tagsFilter: undefined,
      strictTags: false,
    },
    importFile: (path) => import(`${pathToFileURL(path).href}?${runs}`),
    onCollected: (files) => {
      ns.activeMutant = mutant
      if (wanted) for (const test of files.flatMap(testsOf)) if (!wanted.has(fullName(test))) test.mode = 'skip'
      for (const file of files) trim(file)
    },
    onBeforeRunTask: (test) => {
      if (failed !== undefined) test.mode = 'skip'
      ns.currentTestId = fullName(test)
      begun = process.cpuUsage()
    },
    onAfterRunTask: (test) => {
      ns.currentTestId = undefined
      const { user, system } = process.cpuUsage(begun)
      if (test.result?.state === 'pass') passed.set(fullName(test), (user + system) / 1000)
      if (test.result?.state === 'fail') failed ??= `${fullName(test)}: ${test.result.errors?.[0]?.message}`
    },
  }
  for (const script of scripts) {
    const [file] = await startTests([fileURLToPath(script)], runner)
    ns.activeMutant = early ? mutant : undefined
    const error = file!.result?.errors?.[0]
    // Of the file as a whole: what it could not collect, or what a hook threw.
    if (error) failed ??= `${file!.name}: ${error.message}`
    if (failed !== undefined) break
  }
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  const reached = new Map<string, Map<string | null, number>>()
  const note = (test: string | null, counts: Counts) => {
    for (const [id, count] of Object.entries(counts)) {
      const by = reached.get(id) ?? new Map()
      reached.set(id, by.set(test, count))
    }
  }
  const { static: loading, perTest } = ns.mutantCoverage
  note(null, loading)
  for (const [test, counts] of Object.entries(perTest)) note(test, counts)
  return { ...(failed !== undefined && { failed }), passed, reached }
}

/** A suite of which nothing is run needs none of its hooks. */
function trim(task: Task): boolean {
  if (task.type === 'test') return task.mode === 'run' || task.mode === 'queued'
  const any = task.tasks.map(trim).includes(true)
  if (!any) task.mode = 'skip'
  return any
}

parentPort!.on('message', async (trial: Trial) => parentPort!.postMessage(await run(trial)))
