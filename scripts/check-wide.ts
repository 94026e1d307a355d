/**
 * `npm run check:wide [-- FOLDER...] [--node FILE]`: the tests with the CPU device's kernels in 256 bits, under Node 24, in
 * every process that they start: forced by V8's flags (scripts/wide/flags.cjs), where the option `revectorize` would try
 * them and might not take them. First it counts what V8 joins in the kernels; then each folder, and how often kernels were
 * compiled so in it. Without `--node`, another Node than 24 installs one beside what npm has, when first used.
 */
import { execFile, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { revectorizeRefusal } from '../src/device/cpu/revectorize.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const FLAGS = join(root, 'scripts/wide/flags.cjs')
const TOOLS = join(root, 'node_modules/.cache/local-v1-node')
/** Where the CPU device computes. Chromium, in `test/browser` and `test/playground`, has flags of its own. */
const FOLDERS = [
  ...['src/device', 'src/models', 'src/engines', 'src/generate', 'src/service', 'src/cli', 'src/bench', 'adapters'],
  ...['test/contract', 'test/nano', 'test/clients', 'test/oracles', 'test/cli-', 'test/cli.test.ts'],
  ...['bench', 'scripts/models'],
]

const { values, positionals } = parseArgs({ options: { node: { type: 'string' } }, allowPositionals: true })
const node = values.node ?? (revectorizeRefusal() === undefined ? process.execPath : await installed())
const folder = await mkdtemp(join(tmpdir(), 'local-v1-wide-'))
const log = join(folder, 'compiled')
const env = {
  ...process.env,
  PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
  NODE_OPTIONS: `--require ${JSON.stringify(FLAGS)}`,
  LOCAL_V1_WIDE: log,
}

async function installed(): Promise<string> {
  const there = join(TOOLS, 'node_modules/node/bin/node')
  if (existsSync(there)) return there
  await mkdir(TOOLS, { recursive: true })
  await writeFile(join(TOOLS, 'package.json'), '{ "private": true }')
  await run('npm', ['install', '--no-audit', '--no-fund', 'node@24'], { cwd: TOOLS })
  return there
}

/** How often V8 decides, in the kernels of this machine, that operations become one of 256 bits, and of how many. */
async function joined(): Promise<readonly number[]> {
  const compile = `import('./src/device/cpu/wasm.ts').then((wasm) => wasm.compileKernels(wasm.bestVariant(), true))`
  const trace = join(folder, 'trace')
  // V8 writes past Node: to a file, as what a pipe does not take at once is lost.
  const file = openSync(trace, 'w')
  const traced = { ...env, LOCAL_V1_WIDE_TRACE: '1' }
  spawnSync(node, ['--import', 'tsx', '--eval', compile], {
    cwd: root,
    env: traced,
    stdio: ['ignore', file, 'inherit'],
  })
  closeSync(file)
  const text = await readFile(trace, 'utf8')
  return [...text.matchAll(/Decided? to vectorize, (\d+) revectorizable nodes/g)].map(([, count]) => Number(count))
}

interface Outcome {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly testResults: readonly { readonly status: string }[]
}

/** `failed`: also files that could not be loaded, and errors outside every test. */
async function outcomeOf(place: string) {
  await rm(log, { force: true })
  const found = join(folder, 'found.json')
  await rm(found, { force: true })
  const begun = performance.now()
  // All files of a folder, or all whose names begin so.
  const filter = existsSync(join(root, place)) && !place.endsWith('.ts') ? `${place}/` : place
  const args = ['vitest', 'run', filter, '--reporter=default', '--reporter=json', `--outputFile.json=${found}`]
  const { status } = spawnSync('npx', args, { cwd: root, env, stdio: 'inherit', shell: process.platform === 'win32' })
  const minutes = ((performance.now() - begun) / 60_000).toFixed(1)
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(
    await readFile(found, 'utf8'),
  ) as Outcome
  const lines = existsSync(log) ? (await readFile(log, 'utf8')).trim().split('\n') : []
  const processes = new Set(lines.map((line) => line.split(' ')[0])).size
  const failed = Math.max(numFailedTests, status === 0 ? 0 : 1)
  const counts = { passed: numPassedTests, failed, skipped: numPendingTests }
  return { folder: place, files: testResults.length, ...counts, compiled: lines.length, processes, minutes }
}

const nodes = await joined()
const { stdout: version } = await run(node, ['--version'])
const sum = nodes.reduce((all, each) => all + each, 0)
console.log(`Node ${version.trim()} joins ${sum} operations of the kernels, in ${nodes.length} places.`)
const rows: Awaited<ReturnType<typeof outcomeOf>>[] = []
if (nodes.length > 0)
  for (const place of positionals.length > 0 ? positionals : FOLDERS) rows.push(await outcomeOf(place))
console.table(rows)
await rm(folder, { recursive: true, force: true })
const compiled = rows.reduce((all, row) => all + row.compiled, 0)
if (compiled === 0) console.log('No kernels were compiled in 256 bits.')
process.exit(compiled > 0 && rows.every(({ failed }) => failed === 0) ? 0 : 1)
