/**
 * `npm run check:mutants -- FILES`: a judge of our tests that we did not write. StrykerJS changes a file in every small
 * way that it knows, each behind a switch, and the tests that belong to the file are run with one change at a time: one
 * that none of them finds out survives. Its own runner starts Vite's for each change, which takes ten times as long.
 * `--changed` takes what this branch has changed, no name at all the files of scripts/mutants/files.json, which says which
 * tests belong to each; the others' tests are those of the same name. What came of each is written to found.json there.
 * `--resume FILE` keeps what became of each mutant and goes on from there. `--part K/N` tries every Nth of them.
 * A survivor is a test that is missing, or a change that is none: those are named in scripts/mutants/equal.json.
 * StrykerJS is no dependency, as most who work here never need it: it is installed beside what npm has, when first used.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { bundle } from './mutants/bundle.js'
import { type Found, foundText, withFound } from './mutants/found.js'
import { changeOf, type Equal, judged, KILLED, type Report, type Verdict } from './mutants/judge.js'
import { KeptFates } from './mutants/kept-fates.js'
import { changedFiles, testsOf, type Watched } from './mutants/select.js'
import { type Fate, fates } from './mutants/trials.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const LIST = join(root, 'scripts/mutants/files.json')
const EQUAL = join(root, 'scripts/mutants/equal.json')
const FOUND = join(root, 'scripts/mutants/found.json')
/** Beside what npm keeps for itself. */
const TOOLS = join(root, 'node_modules/.cache/local-v1-mutants')
const VERSION = '9.6.1'
/** Percent of the mutants that must be found out; of a file on the list all that are not named as equal. */
const BAR = 85

const { values, positionals } = parseArgs({
  options: {
    changed: { type: 'boolean' },
    tests: { type: 'string', multiple: true },
    part: { type: 'string' },
    resume: { type: 'string' },
  },
  allowPositionals: true,
})
const [part, parts] = (values.part ?? '1/1').split('/').map(Number) as [number, number]
if (!(part >= 1 && part <= parts)) throw new Error(`--part is K/N, K of 1 to N, not '${values.part}'.`)
const kept = new KeptFates(values.resume)

async function install(): Promise<void> {
  const there = join(TOOLS, 'node_modules/@stryker-mutator/instrumenter/package.json')
  if (existsSync(there) && JSON.parse(await readFile(there, 'utf8')).version === VERSION) return
  await mkdir(TOOLS, { recursive: true })
  await writeFile(join(TOOLS, 'package.json'), '{ "private": true }')
  const flags = ['--no-audit', '--no-fund']
  const packages = [`@stryker-mutator/instrumenter@${VERSION}`]
  await run('npm', ['install', ...flags, ...packages], { cwd: TOOLS, shell: process.platform === 'win32' })
}

interface Place {
  readonly line: number
  readonly column: number
}

/** What is used of StrykerJS: it puts every change that it knows into a file, each behind a switch of its own. */
interface Instrumenter {
  instrument(
    files: readonly { name: string; content: string; mutate: boolean }[],
    options: { plugins: null; excludedMutations: string[]; ignorers: never[] },
  ): Promise<{
    files: { content: string }[]
    mutants: { id: string; replacement: string; location: { start: Place; end: Place }; status?: string }[]
  }>
}

async function instrumenter(): Promise<Instrumenter> {
  const path = join(TOOLS, 'node_modules/@stryker-mutator/instrumenter/dist/src/index.js')
  const { Instrumenter: Made } = await import(pathToFileURL(path).href)
  const quiet = () => {}
  return new Made({ debug: quiet, info: quiet, warn: console.warn, isDebugEnabled: () => false })
}

/** StrykerJS counts from 0 here, and from 1 in its reports. */
const fromOne = ({ line, column }: Place): Place => ({ line: line + 1, column: column + 1 })

/** Not tried yet: it is of another part. */
const OPEN = 'Open'

/** What became of every mutant of a file, or of those of the part and what is kept of others; `whole`: of every one. */
async function reportOf(file: string, tests: readonly string[]): Promise<{ report: Report; whole: boolean }> {
  const source = await readFile(join(root, file), 'utf8')
  const options = { plugins: null, excludedMutations: [], ignorers: [] }
  const { files, mutants } = await strykers.instrument([{ name: file, content: source, mutate: true }], options)
  // Within reach of what the tests import.
  const folder = await mkdtemp(join(TOOLS, 'scripts-'))
  try {
    await bundle(root, folder, tests, new Map([[file, files[0]!.content]]))
    const scripts = await Promise.all(tests.map((_, i) => readFile(join(folder, `${i}.mjs`), 'utf8')))
    const known = kept.of(source, scripts)
    const open = mutants.filter(({ id, status }, i) => {
      return status === undefined && i % parts === part - 1 && known.get(id) === undefined
    })
    const lines = source.split('\n')
    const inReport = (id: string) => {
      const { replacement, location, status = known.get(id) ?? OPEN } = mutants.find((mutant) => mutant.id === id)!
      return { status, replacement, location: { start: fromOne(location.start), end: fromOne(location.end) } }
    }
    let [tried, found] = [0, 0]
    const ids = open.map(({ id }) => id)
    // Beside what is told at the end: a long run that is cut has not been in vain.
    const note = (id: string, fate: Fate) => {
      known.add(id, fate)
      if (KILLED.has(fate)) found++
      else {
        const { line, was, becomes } = changeOf(inReport(id), lines)
        console.error(`  ${fate} ${file}:${line}: ${was} -> ${becomes}`)
      }
      if (++tried % 25 === 0) console.error(`  ${file}: ${tried} of ${ids.length} tried, ${found} found out`)
    }
    if (ids.length > 0) await fates(folder, tests.length, ids, note)
    const all = mutants.map(({ id }) => inReport(id))
    return {
      report: { files: { [file]: { source, mutants: all } } },
      whole: !all.some(({ status }) => status === OPEN),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function tell({ file, percent, killed, of, survivors, unheard }: Verdict, seconds: number): void {
  for (const { line, was, becomes, reached } of survivors) {
    console.log(`  ${file}:${line} ${reached ? 'survives' : 'is run by no test'}: ${was} -> ${becomes}`)
  }
  for (const { was, becomes } of unheard) console.log(`  equal.json has what is no survivor: ${was} -> ${becomes}`)
  console.log(`${file}: ${percent} % of ${of} found out (${killed}), in ${Math.round(seconds)} s of processor time`)
}

const listed = JSON.parse(await readFile(LIST, 'utf8')) as Record<string, Watched>
const equals = JSON.parse(await readFile(EQUAL, 'utf8')) as Record<string, Equal[]>
const chosen = values.changed ? await changedFiles(root) : positionals.length > 0 ? positionals : Object.keys(listed)
await install()
const strykers = await instrumenter()
const low: string[] = []
for (const file of chosen) {
  const tests = values.tests ?? listed[file]?.tests ?? testsOf(root, file)
  if (tests.length === 0) {
    console.log(`${file}: no tests are known; name some with --tests, or in scripts/mutants/files.json`)
    low.push(file)
    continue
  }
  const { user, system } = process.cpuUsage()
  const came = await reportOf(file, tests).catch((error: unknown) => console.log(`${file}: ${error}`))
  if (!came) {
    low.push(file)
    continue
  }
  const { report, whole } = came
  // Of what was not tried nobody knows whether it lives.
  const verdict = { ...judged(file, report, equals[file] ?? []), ...(!whole && { unheard: [] }) }
  const spent = process.cpuUsage({ user, system })
  tell(verdict, (spent.user + spent.system) / 1e6)
  // Of a file on the list each survivor is found out or named; of others so many that a branch can go on.
  const alive = listed[file] !== undefined && verdict.survivors.length > 0
  if (verdict.percent < BAR || verdict.unheard.length > 0 || alive) low.push(file)
  if (listed[file] && !values.tests && whole) await keep(verdict)
}
if (low.length > 0) console.log(`Below ${BAR} %, with survivors, or to be looked at: ${low.join(', ')}`)
process.exit(low.length > 0 ? 1 : 0)

/** Read anew: a run takes long, and others may have written meanwhile. */
async function keep(verdict: Verdict): Promise<void> {
  const now = JSON.parse(await readFile(FOUND, 'utf8')) as Record<string, Found>
  await writeFile(FOUND, foundText(withFound(now, verdict, Object.keys(listed))))
}
