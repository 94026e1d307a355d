/**
 * `npm run check:nightly [-- --from NAME] [--only NAME...] [--peers FOLDER] [--transformers FOLDER] [--templates FOLDER]
 * [--grammars FOLDER] [--python FOLDER] [--lib FILE]`: the tests, with every case on every device (`LOCAL_V1_FULL`, test/support/full.ts) and what lasts
 * long in browsers, then every check that reaches further, in the order in which a fault is told soonest, each to its end;
 * then a table. Exit code 1 if one failed. A check that needs a path is left out
 * without it, and named.
 */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { Command } from 'commander'

type Place = 'peers' | 'transformers' | 'templates' | 'grammars' | 'python' | 'lib'

interface Check {
  readonly name: string
  /** Paths without which it is left out, and its own options for them; `''`: an argument without one. */
  readonly needs?: Readonly<Partial<Record<Place, string>>>
  readonly args?: readonly string[]
}

/** What became of mutants, which lasts for hours: a night that was cut is gone on with in the next. */
const FATES = 'node_modules/.cache/local-v1-mutants/fates'

/**
 * Those of our own code first, then those in browsers and clients, then those beside others' programs, and last the one
 * that tells of our tests, which takes longest.
 */
const CHECKS: readonly Check[] = [
  { name: 'test' },
  ...['schemas', 'masks', 'hostile', 'heads', 'fuzz', 'hostile-clients', 'soak', 'readers', 'patterns'].map(check),
  ...['evidence', 'nano', 'real', 'cache', 'wide'].map(check),
  ...['browser', 'browsers', 'bundlers', 'docs', 'newcomer', 'clients', 'webllm-list'].map(check),
  { ...check('webllm'), needs: { lib: '--lib' } },
  { ...check('templates'), needs: { templates: '' } },
  { ...check('grammars'), needs: { grammars: '', python: '--python' } },
  { ...check('own-loops'), needs: { transformers: '--transformers', peers: '--llama' } },
  ...['gguf', 'tokenizers', 'models'].map((name): Check => ({ ...check(name), needs: { peers: '--peers' } })),
  { ...check('mutants'), args: ['--resume', FATES] },
]

function check(name: string): Check {
  return { name: `check:${name}` }
}

const { from, only, ...places } = new Command()
  .option('--peers <folder>', 'where node-llama-cpp is installed')
  .option('--transformers <folder>', 'where @huggingface/transformers is installed')
  .option('--templates <folder>', 'chat templates as their makers publish them')
  .option('--grammars <folder>', 'grammars of custom tools: *.lark, *.regex')
  .option('--python <folder>', 'where lark is installed (pip install lark -t FOLDER)')
  .option('--lib <file>', 'a compiled library for WebLLM')
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
for (const { name, needs = {}, args: always = [] } of wanted) {
  const named = Object.entries(needs).map(([place, option]) => [option, places[place as Place]] as const)
  if (named.some(([, path]) => path === undefined)) {
    const options = Object.keys(needs).map((place) => `--${place} PATH`)
    rows.push({ check: name, came: `left out: ${options.join(' ')}`, minutes: '' })
    continue
  }
  console.log(`\n== npm run ${name}`)
  const begun = performance.now()
  const args = [...always, ...named.flatMap(([option, path]) => [option, path!].filter((word) => word !== ''))]
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
