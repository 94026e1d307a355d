/**
 * `npm run check:nightly [-- --from NAME] [--only NAME...] [--peers FOLDER] [--transformers FOLDER] [--templates FOLDER]
 * [--grammars FOLDER] [--python FOLDER] [--lib FILE]`: the tests, with every case on every device (`LOCAL_V1_FULL`,
 * test/support/full.ts) and what lasts long in browsers, then every check that reaches further, in the order in which a
 * fault is told soonest, each to its end; then a table. Exit code 1 if one failed. A check that needs a path is left out
 * without it, and named; one that can compare more with a path takes it where it is given.
 */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { Command } from 'commander'
import { argsOf, CHECKS, PLACES, type Place } from './nightly/checks.js'

const command = new Command()
for (const [place, what] of Object.entries(PLACES)) command.option(`--${place} <path>`, what)
const { from, only, ...places } = command
  .option('--from <name>', 'the check to begin with')
  .option('--only <names...>', 'these alone')
  .parse()
  .opts<{ from?: string; only?: string[] } & Partial<Record<Place, string>>>()

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
for (const check of wanted) {
  const { name } = check
  const args = argsOf(check, places)
  if ('lacks' in args) {
    rows.push({ check: name, came: `left out: ${args.lacks}`, minutes: '' })
    continue
  }
  console.log(`\n== npm run ${name}`)
  const begun = performance.now()
  const code = await ended(name, args.length > 0 ? ['--', ...args] : [])
  const minutes = ((performance.now() - begun) / 60_000).toFixed(1)
  rows.push({ check: name, came: code === 0 ? 'passed' : `FAILED (${code})`, minutes })
}
console.table(rows)
const failed = rows.filter(({ came }) => came.startsWith('FAILED'))
console.log(`${rows.length - failed.length} of ${rows.length} passed or left out`)
process.exitCode = failed.length > 0 ? 1 : 0

function ended(name: string, args: readonly string[]): Promise<number | string> {
  const { peers } = places
  // Without it the contract of the engine over llama.cpp is left out of the tests.
  const env = { ...process.env, LOCAL_V1_FULL: '1', CHECK_BROWSER: '1', ...(peers && { LOCAL_V1_PEERS: peers }) }
  const child = spawn('npm', ['run', '--silent', name, ...args], { stdio: 'inherit', env })
  return new Promise((done) => {
    child.on('error', ({ message }) => done(message))
    child.on('exit', (code, signal) => done(code ?? signal ?? 'no exit code'))
  })
}
