/** Runs one of the bundled test files with vitest's own runner. */
import { fileURLToPath } from 'node:url'
import { startTests, type Task, type Test, type VitestRunner } from '@vitest/runner'
import { NO_TIME, tell } from './message.js'

const LONGEST = 60_000

/** `until`, on the clock of `performance`: no test is begun after it. */
export async function runTests(file: number, names: RegExp, until: number): Promise<void> {
  const path = fileURLToPath(new URL(`./test-${file}.mjs`, import.meta.url))
  const reported = new Set<Test>()
  const runner: VitestRunner = {
    config: {
      root: fileURLToPath(new URL('.', import.meta.url)),
      setupFiles: [],
      name: undefined,
      passWithNoTests: true,
      testNamePattern: names,
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
    importFile: (file) => import(file),
    onBeforeRunTask: (test) => {
      if (test.mode !== 'run') return
      if (performance.now() < until) return console.log(`${fullName(test)} ...`)
      reported.add(test)
      test.mode = 'skip'
      tell({ kind: 'tried', tried: { name: fullName(test), state: 'skip', milliseconds: 0, error: NO_TIME } })
    },
    onAfterRunTask: (test) => {
      reported.add(test)
      report(test)
    },
  }
  const files = await startTests([path], runner)
  // Those that this GPU cannot run: no hook hears of them.
  for (const test of files.flatMap(testsOf)) {
    if (reported.has(test) || test.mode !== 'skip' || !names.test(fullName(test).replaceAll(' > ', ' '))) continue
    report(test)
    reported.add(test)
  }
  for (const { result, name } of files) {
    // Of the file as a whole: what it could not even collect, or what a hook threw.
    for (const error of result?.errors ?? []) {
      const [state, text] = isLate(error) ? (['skip', NO_TIME] as const) : (['fail', textOf(error)] as const)
      tell({ kind: 'tried', tried: { name, state, milliseconds: 0, error: text } })
    }
  }
  if (reported.size === 0) throw new Error(`No test has a name like ${names}.`)
}

const testsOf = (task: Task): Test[] => (task.type === 'test' ? [task] : task.tasks.flatMap(testsOf))

/** Slow is not wrong: what a test would have said at its end nobody knows. */
const isLate = ({ message }: TestError) => /^(Test|Hook) timed out in \d+ms/.test(message)

function report(test: Test): void {
  const { state: found, duration, errors } = test.result ?? {}
  const late = errors !== undefined && errors.length > 0 && errors.every(isLate)
  const state = late ? 'skip' : found
  const error = late ? NO_TIME : errors?.map(textOf).join('\n')
  tell({
    kind: 'tried',
    tried: {
      name: fullName(test),
      state: state === 'pass' || state === 'fail' ? state : 'skip',
      milliseconds: Math.round(duration ?? 0),
      ...(error && { error }),
    },
  })
}

function fullName({ name, suite }: Test): string {
  const names = [name]
  for (let at = suite; at && at.name !== ''; at = at.suite) names.unshift(at.name)
  return names.join(' > ')
}

type TestError = NonNullable<NonNullable<Test['result']>['errors']>[number]

/** A test's time-out says so in its message alone. */
function textOf({ message, stack = '' }: TestError): string {
  return stack.includes(message) ? stack : `${message}\n${stack}`
}
