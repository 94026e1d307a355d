/** The kit on its GPU machine: finds the driver, does part after part, and writes down what comes of it as it comes. */
import { fork } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { drivers } from './drivers.js'
import type { Adapter, Message } from './message.js'
import { limitOf, MINUTES, type Part, plan } from './plan.js'
import { Results } from './results.js'

const here = dirname(fileURLToPath(import.meta.url))
/** For tables and files, after the last part. */
const REST = 5

type Env = Readonly<Record<string, string>>

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, minutes: { type: 'string', default: String(MINUTES) } },
  })
  const { quick } = values
  const minutes = Number(values.minutes)
  const [folder] = positionals
  if (folder === undefined || !(minutes > 0)) return usage()
  const out = resolve(folder)
  await mkdir(out, { recursive: true })
  const log = createWriteStream(join(out, 'log.txt'))
  const results = new Results(out)
  const deadline = Date.now() + (minutes * 60 - REST) * 1000
  const chosen = await chooseDriver(log)
  results.begin(chosen?.adapter)
  if (chosen === undefined) results.fail('the GPU', 'No driver shows a WebGPU adapter: see log.txt.')
  const parts = plan(quick)
  for (const [i, part] of chosen === undefined ? [] : parts.entries()) {
    const seconds = limitOf(parts.slice(i), (deadline - Date.now()) / 1000)
    process.stdout.write(`${part.name} ... `)
    const start = Date.now()
    const take = (message: Message) => results.take(part.name, message)
    const fault = seconds < 1 ? 'There was no time left.' : await carryOut(part, seconds, chosen!.env, log, take)
    results.end(part.name, fault)
    process.stdout.write(`${((Date.now() - start) / 1000).toFixed(1)} s${fault ? `: ${fault}` : ''}\n`)
    await results.write()
  }
  await results.write()
  log.end()
  process.stdout.write(`\n${results.summary()}`)
  process.exitCode = results.failed === 0 ? 0 : 1
}

function usage(): void {
  process.stderr.write(
    'run.sh RESULTS [--quick] [--minutes 8]: the folder for what comes of it; --quick for a GPU in software\n',
  )
  process.exitCode = 2
}

/** The first driver with a real GPU, else the first with any. */
async function chooseDriver(log: WriteStream): Promise<{ env: Env; adapter: Adapter } | undefined> {
  let software: { env: Env; adapter: Adapter } | undefined
  for (const env of await drivers(join(here, 'lib'))) {
    let adapter: Adapter | undefined
    const job = { name: 'the GPU', seconds: 60, job: { kind: 'adapter' as const } }
    const fault = await carryOut(job, job.seconds, env, log, (message) => {
      if (message.kind === 'adapter') adapter = message.adapter
    })
    log.write(`driver ${JSON.stringify(env)}: ${adapter ? JSON.stringify(adapter) : (fault ?? 'no adapter')}\n`)
    if (adapter?.software === false) return { env, adapter }
    if (adapter) software ??= { env, adapter }
  }
  return software
}

/** Resolves with what went wrong, if anything did. */
function carryOut(
  { name, job }: { readonly name: string; readonly job: Part['job'] | { readonly kind: 'adapter' } },
  seconds: number,
  env: Env,
  log: WriteStream,
  take: (message: Message) => void,
): Promise<string | undefined> {
  log.write(`\n## ${name}\n`)
  return new Promise((done) => {
    const child = fork(join(here, 'child.mjs'), [JSON.stringify(job)], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    let late = false
    const timer = setTimeout(() => {
      late = true
      child.kill('SIGKILL')
    }, seconds * 1000)
    let said = ''
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (data) => {
        said = `${said}${data}`.slice(-2000)
        log.write(data)
      })
    }
    child.on('message', (message) => take(message as Message))
    child.on('error', (error) => done(error.message))
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      const last = said.trim().split('\n').slice(-3).join(' | ')
      if (late) done(`It took longer than ${Math.round(seconds)} s; the last that it said: ${last}`)
      else if (code !== 0) done(`It ended with ${signal ?? code}: ${last}`)
      else done(undefined)
    })
  })
}

await main(process.argv.slice(2))
