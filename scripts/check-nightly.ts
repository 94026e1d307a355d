/**
 * `npm run check:nightly [-- --peers FOLDER] [--from NAME] [--only NAME...]`: the tests, with every case on every device
 * (`LOCAL_V1_FULL`, test/support/full.ts) and what lasts long in browsers, then every check that reaches further, in the
 * order in which a fault is told soonest, each to its end; then a table. Exit code 1 if one failed.
 * `--peers FOLDER` has node-llama-cpp in its `node_modules`; what needs it is left out without it, and named.
 */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { Command } from 'commander'

interface Check {
  readonly name: string
  /** Held to llama.cpp, of the folder that is named. */
  readonly peers?: true
}

/** Those of our own code first, then those in browsers and clients, then those beside others' programs. */
const CHECKS: readonly Check[] = [
  { name: 'test' },
  ...['schemas', 'masks', 'hostile', 'heads', 'fuzz', 'hostile-clients', 'soak', 'readers', 'nano', 'real'].map(check),
  ...['browser', 'browsers', 'bundlers', 'docs', 'newcomer', 'clients', 'webllm', 'webllm-list'].map(check),
  check('templates'),
  ...['gguf', 'tokenizers', 'models'].map((name): Check => ({ ...check(name), peers: true })),
]

function check(name: string): Check {
  return { name: `check:${name}` }
}

const { peers, from, only } = new Command()
  .option('--peers <folder>', 'where node-llama-cpp is installed')
  .option('--from <name>', 'the check to begin with')
  .option('--only <names...>', 'these alone')
  .parse()
  .opts<{ peers?: string; from?: string; only?: string[] }>()

const known = CHECKS.map(({ name }) => name)
for (const name of [from, ...(only ?? [])]) {
  if (name === undefined || known.includes(name)) continue
  console.error(`There is no check "${name}"; there are ${known.join(', ')}.`)
  process.exit(2)
}
const wanted = CHECKS.slice(from === undefined ? 0 : known.indexOf(from)).filter(
  ({ name }) => only?.includes(name) ?? true,
)
const rows: { check: string; came: string; minutes: string }[] = []
for (const { name, peers: needs } of wanted) {
  if (needs && peers === undefined) {
    rows.push({ check: name, came: 'left out: --peers FOLDER', minutes: '' })
    continue
  }
  console.log(`\n== npm run ${name}`)
  const begun = performance.now()
  const code = await ended(name, needs && peers !== undefined ? ['--', '--peers', peers] : [])
  const minutes = ((performance.now() - begun) / 60_000).toFixed(1)
  rows.push({ check: name, came: code === 0 ? 'passed' : `FAILED (${code})`, minutes })
}
console.table(rows)
const failed = rows.filter(({ came }) => came.startsWith('FAILED'))
console.log(`${rows.length - failed.length} of ${rows.length} passed or left out`)
process.exitCode = failed.length > 0 ? 1 : 0

function ended(name: string, args: readonly string[]): Promise<number | string> {
  const env = { ...process.env, LOCAL_V1_FULL: '1', CHECK_BROWSER: '1' }
  const child = spawn('npm', ['run', '--silent', name, ...args], { stdio: 'inherit', env })
  return new Promise((done) => {
    child.on('error', ({ message }) => done(message))
    child.on('exit', (code, signal) => done(code ?? signal ?? 'no exit code'))
  })
}
