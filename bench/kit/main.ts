/** The kit on its GPU machine: finds the driver, does part after part, and writes down what comes of it as it comes. */
import { fork } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { drivers } from './drivers.js'
import { type Adapter, type Message, NO_TIME } from './message.js'
import { CHOOSING, chosen, LEAST_MINUTES, limitOf, MINUTES, type Part, plan, REST, tuning } from './plan.js'
import { Results } from './results.js'

const here = dirname(fileURLToPath(import.meta.url))
/** Of a part's time: a process that waits for a GPU that hangs cannot be ended, and nobody waits longer for it. */
const DYING_MS = 3000

type Env = Readonly<Record<string, string>>

/** A GPU compiles in a moment what one in software takes seconds for: see test/support/full.ts. */
const ALL_CASES: Env = { LOCAL_V1_FULL: '1' }

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      tune: { type: 'boolean', default: false },
      only: { type: 'string' },
      minutes: { type: 'string', default: String(MINUTES) },
    },
  })
  const { quick } = values
  const minutes = Number(values.minutes)
  const [folder] = positionals
  if (folder === undefined || !(minutes >= LEAST_MINUTES)) return usage()
  const all = values.tune ? tuning(quick) : plan(quick)
  const parts = values.only === undefined ? all : chosen(all, values.only)
  if (parts.length === 0)
    return usage(`--only ${values.only} names none of: ${all.map(({ name }) => name).join(', ')}\n`)
  const out = resolve(folder)
  await mkdir(out, { recursive: true })
  const log = createWriteStream(join(out, 'log.txt'))
  const results = new Results(out)
  const deadline = Date.now() + (minutes * 60 - REST) * 1000
  const driver = await chooseDriver(log, limitOf([CHOOSING, ...parts], (deadline - Date.now()) / 1000))
  results.begin(driver?.adapter)
  if (driver === undefined) results.fail('the GPU', 'No driver shows a WebGPU adapter: see log.txt.')
  for (const [i, part] of driver === undefined ? [] : parts.entries()) {
    const seconds = limitOf(parts.slice(i), (deadline - Date.now()) / 1000)
    process.stdout.write(`${part.name} ... `)
    const start = Date.now()
    const take = (message: Message) => results.take(part.name, message)
    const { fault, cut } =
      seconds * 1000 < 2 * DYING_MS
        ? { fault: NO_TIME, cut: true }
        : await carryOut(part, seconds, { ...driver!.env, ...part.env, ...(!quick && ALL_CASES) }, log, take)
    if (cut) results.leave(part.name, fault!)
    results.end(part.name, cut ? undefined : fault)
    process.stdout.write(`${((Date.now() - start) / 1000).toFixed(1)} s${fault ? `: ${fault}` : ''}\n`)
    await results.write()
  }
  await results.write()
  await new Promise((done) => log.end(done))
  process.stdout.write(`\n${results.summary()}`)
  // Without waiting for what could not be ended.
  process.exit(results.failed === 0 ? 0 : 1)
}

function usage(fault = ''): void {
  process.stderr.write(
    `${fault}run.sh RESULTS [--quick] [--tune] [--only WORDS] [--minutes ${MINUTES}]: the folder for what comes of it; --quick for a GPU in software; --tune for kernels cut in other ways; --only for parts whose name contains one of the words, which commas divide; at least ${LEAST_MINUTES} minute\n`,
  )
  process.exitCode = 2
}

/** The first driver with a real GPU, else the first with any. */
async function chooseDriver(log: WriteStream, seconds: number): Promise<{ env: Env; adapter: Adapter } | undefined> {
  let software: { env: Env; adapter: Adapter } | undefined
  const deadline = Date.now() + seconds * 1000
  for (const env of await drivers(join(here, 'lib'))) {
    const seconds = (deadline - Date.now()) / 1000
    if (seconds < 1) break
    let adapter: Adapter | undefined
    const job = { name: 'the GPU', job: { kind: 'adapter' as const } }
    const { fault } = await carryOut(job, seconds, env, log, (message) => {
      if (message.kind === 'adapter') adapter = message.adapter
    })
    log.write(`driver ${JSON.stringify(env)}: ${adapter ? JSON.stringify(adapter) : (fault ?? 'no adapter')}\n`)
    if (adapter?.software === false) return { env, adapter }
    if (adapter) software ??= { env, adapter }
  }
  return software
}

interface Ended {
  /** What went wrong, if anything did. */
  readonly fault?: string
  /** Its time was over. */
  readonly cut?: boolean
}

function carryOut(
  { name, job }: { readonly name: string; readonly job: Part['job'] | { readonly kind: 'adapter' } },
  seconds: number,
  env: Env,
  log: WriteStream,
  take: (message: Message) => void,
): Promise<Ended> {
  log.write(`\n## ${name}\n`)
  const dyingSeconds = DYING_MS / 1000
  return new Promise((done) => {
    const child = fork(join(here, 'child.mjs'), [JSON.stringify(job), String(seconds - dyingSeconds)], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    let output = ''
    const lastLines = () => output.trim().split('\n').slice(-3).join(' | ')
    const late = () =>
      done({ fault: `It took longer than ${Math.round(seconds)} s; the last that it said: ${lastLines()}`, cut: true })
    let dying: NodeJS.Timeout | undefined
    const timer = setTimeout(
      () => {
        child.kill('SIGKILL')
        dying = setTimeout(late, DYING_MS)
      },
      seconds * 1000 - DYING_MS,
    )
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (data) => {
        output = `${output}${data}`.slice(-2000)
        log.write(data)
      })
    }
    child.on('message', (message) => take(message as Message))
    child.on('error', (error) => done({ fault: error.message }))
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      if (dying) {
        clearTimeout(dying)
        late()
      } else if (code !== 0) done({ fault: `It ended with ${signal ?? code}: ${lastLines()}` })
      else done({})
    })
  })
}

await main(process.argv.slice(2))
