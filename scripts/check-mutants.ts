/**
 * `npm run check:mutants -- FILES`: a judge of our tests that we did not write. StrykerJS changes a file in every small
 * way that it knows, one at a time, and runs the tests that belong to the file: a change that none of them finds out
 * survives. `--changed` takes what this branch has changed, no name at all the files of scripts/mutants/files.json,
 * which says which tests belong to each and what came of it last; the others' tests are those of the same name.
 * A survivor is a test that is missing, or a change that is none: those are named in scripts/mutants/equal.json.
 * StrykerJS is no dependency, as most who work here never need it: it is installed beside what npm has, when first used.
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { type Equal, judged, type Report, type Verdict } from './mutants/judge.js'
import { changedFiles, testsOf, type Watched } from './mutants/select.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const LIST = join(root, 'scripts/mutants/files.json')
const EQUAL = join(root, 'scripts/mutants/equal.json')
/** Within reach of the vitest that runs the tests: there may be only one of it in a process. */
const TOOLS = join(root, 'node_modules/.cache/local-v1-mutants')
const VERSION = '9.6.1'
/** Percent of the mutants that must be found out. */
const BAR = 85
/** What tests read. Everything else stays out of the copy in which files are changed. */
const COPIED = ['src', 'test', 'adapters', 'scripts', 'bench', 'models', 'examples', 'docs', 'apps']
const COPIED_FILES = ['package.json', 'tsconfig.json', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md']

const { values, positionals } = parseArgs({
  options: { changed: { type: 'boolean' }, concurrency: { type: 'string' }, tests: { type: 'string', multiple: true } },
  allowPositionals: true,
})

async function install(): Promise<void> {
  const kept = join(TOOLS, 'node_modules/@stryker-mutator/core/package.json')
  if (existsSync(kept) && JSON.parse(await readFile(kept, 'utf8')).version === VERSION) return
  await mkdir(TOOLS, { recursive: true })
  await writeFile(join(TOOLS, 'package.json'), '{ "private": true }')
  // The runner asks for vitest as a peer: it finds the repository's.
  const flags = ['--no-audit', '--no-fund', '--legacy-peer-deps']
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${VERSION}`)
  await run('npm', ['install', ...flags, ...packages], { cwd: TOOLS, shell: process.platform === 'win32' })
}

/** What became of every mutant of a file. */
async function reportOf(file: string, tests: readonly string[], folder: string): Promise<Report> {
  const fileName = join(folder, 'report.json')
  const options = {
    mutate: [file],
    testRunner: 'vitest',
    plugins: [join(TOOLS, 'node_modules/@stryker-mutator/vitest-runner/dist/src/index.js')],
    vitest: { configFile: 'scripts/mutants/vitest.config.ts', related: false },
    ignorePatterns: ['*', ...[...COPIED, ...COPIED_FILES].flatMap((name) => [`!${name}`, `!${name}/**`])],
    tempDirName: folder,
    concurrency: Number(values.concurrency ?? Math.max(1, availableParallelism() - 1)),
    coverageAnalysis: 'perTest',
    reporters: ['json'],
    jsonReporter: { fileName },
    // A mutant that never ends is found out by the clock: on a busy machine what ends takes long, too.
    timeoutMS: 10_000,
    timeoutFactor: 3,
    disableTypeChecks: true,
    allowConsoleColors: false,
    logLevel: 'warn',
  }
  const config = join(folder, 'stryker.json')
  await writeFile(config, JSON.stringify(options))
  const bin = join(TOOLS, 'node_modules/@stryker-mutator/core/bin/stryker.js')
  const env = { ...process.env, LOCAL_V1_MUTANT_TESTS: JSON.stringify(tests) }
  const child = spawn(process.execPath, [bin, 'run', config], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (data) => {
    said += data
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) throw new Error(`StrykerJS could not judge the tests of ${file}:\n${said}`)
  return JSON.parse(await readFile(fileName, 'utf8'))
}

function tell({ file, percent, killed, of, survivors, unheard }: Verdict, seconds: number): void {
  for (const { line, was, becomes, reached } of survivors) {
    console.log(`  ${file}:${line} ${reached ? 'survives' : 'is run by no test'}: ${was} -> ${becomes}`)
  }
  for (const { was, becomes } of unheard) console.log(`  equal.json has what is no survivor: ${was} -> ${becomes}`)
  console.log(`${file}: ${percent} % of ${of} found out (${killed}), in ${Math.round(seconds)} s`)
}

const listed = JSON.parse(await readFile(LIST, 'utf8')) as Record<string, Watched>
const equals = JSON.parse(await readFile(EQUAL, 'utf8')) as Record<string, Equal[]>
const chosen = values.changed ? await changedFiles(root) : positionals.length > 0 ? positionals : Object.keys(listed)
await install()
const folder = await mkdtemp(join(tmpdir(), 'local-v1-mutants-'))
const low: string[] = []
try {
  for (const file of chosen) {
    const tests = values.tests ?? listed[file]?.tests ?? testsOf(root, file)
    if (tests.length === 0) {
      console.log(`${file}: no tests are known; name some with --tests, or in scripts/mutants/files.json`)
      low.push(file)
      continue
    }
    const start = performance.now()
    const verdict = judged(file, await reportOf(file, tests, folder), equals[file] ?? [])
    tell(verdict, (performance.now() - start) / 1000)
    if (verdict.percent < BAR || verdict.unheard.length > 0) low.push(file)
    if (listed[file] && !values.tests) await keepPercent(file, verdict.percent)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
if (low.length > 0) console.log(`Below ${BAR} %, or to be looked at: ${low.join(', ')}`)
process.exit(low.length > 0 ? 1 : 0)

/** Read anew: a run takes long, and others may have written meanwhile. */
async function keepPercent(file: string, percent: number): Promise<void> {
  const now = JSON.parse(await readFile(LIST, 'utf8')) as Record<string, Watched>
  now[file] = { ...now[file]!, percent }
  await writeFile(LIST, `{\n${Object.entries(now).map(inList).join(',\n')}\n}\n`)
}

/** As the formatter wants it. */
function inList([name, { percent, tests }]: [string, Watched]): string {
  const quoted = tests.map((test) => JSON.stringify(test))
  const row = `    "tests": [${quoted.join(', ')}]`
  const told = row.length <= 120 ? row : `    "tests": [\n      ${quoted.join(',\n      ')}\n    ]`
  const before = percent === undefined ? '' : `    "percent": ${percent},\n`
  return `  ${JSON.stringify(name)}: {\n${before}${told}\n  }`
}
