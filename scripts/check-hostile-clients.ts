/**
 * Clients that mean no good against a real server: `local-v1 serve` with its default options over HTTP on this machine
 * alone. The attacks are a table of all endpoints (`hostile-clients/attacks.ts`); each meets a server of its own. While
 * it lasts, callers that were never seen before are to notice little of it, no turn of the event loop may take long, and
 * after it memory is back, the ledger has every answer and the server ends when it is told to. Exit code 1 otherwise.
 *
 * `tsx scripts/check-hostile-clients.ts [--program dist/cli.js] [--only PATTERN] [--minutes 10]`. On Linux times are
 * what the server worked meanwhile and what it was idle, without what threads waited for a processor, so that a busy
 * machine does not count; the clock's own stand in brackets.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messages } from '../src/service/endpoints/messages/index.js'
import { ollama } from '../src/service/endpoints/ollama/index.js'
import { ENDPOINTS } from '../src/service/endpoints.js'
import { isBuilt } from './built.js'
import { ATTACKS, type Attack } from './hostile-clients/attacks.js'
import { leaveAll, type Outcome, open, pause } from './hostile-clients/clients.js'
import { Liars } from './hostile-clients/liars.js'
import { encoders, hostile } from './hostile-clients/models.js'
import type { Told } from './hostile-clients/probe.js'
import type { Time } from './hostile-clients/ready.js'
import { type Memory, Server } from './hostile-clients/server.js'

const PROGRAM = 'dist/cli.js'
const { values } = parseArgs({
  options: {
    program: { type: 'string', default: PROGRAM },
    only: { type: 'string', default: '' },
    minutes: { type: 'string', default: '10' },
  },
})
// What an old build does wrong would be told of these sources.
if (values.program === PROGRAM && !isBuilt()) throw new Error(`${PROGRAM} is of other sources: npm run build first.`)

const MOST_MODELS_MS = 50
const MOST_STRICT_MS = 500
const MOST_TURN_MS = 50
const MOST_STOP_MS = 5000
/**
 * More than before the attack: what the system counts as resident, with the garbage collected first, as garbage says when
 * a collector last ran and no more. It takes in what the C library keeps of freed buffers: it is what users get.
 */
const MOST_MEBIBYTES = 100
/** Of downloads that were begun and given up: a file of unknown size may have 128 MiB, and two are read at a time. */
const MOST_DISK_MEBIBYTES = 300
/** Without a request, until V8 takes what it has for all that is needed. */
const QUIET_MS = 8000
/** Shorter attacks are repeated. */
const LEAST_MS = 4000
/** After this one is called off. */
const MOST_MS = 15_000

class Probe {
  readonly #process: ChildProcess

  constructor(server: Server) {
    const place = new URL('./hostile-clients/probe.ts', import.meta.url)
    this.#process = fork(place, [server.origin, `${server.pid}`])
  }

  /** What it has seen since it was last asked. */
  report(): Promise<Told> {
    return new Promise((resolve) => {
      this.#process.once('message', (report) => resolve(report as Told))
      this.#process.send('report')
    })
  }

  stop(): void {
    this.#process.disconnect()
  }
}

function p99(times: readonly Time[], of: keyof Time): number {
  const sorted = times.map((time) => time[of]).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? Number.POSITIVE_INFINITY
}
const worst = (times: readonly Time[], of: keyof Time) => Math.max(...times.map((time) => time[of]))
const both = (figure: (of: keyof Time) => number) => `${figure('own').toFixed(0)} (${figure('clock').toFixed(0)})`

/** Beside the system's count what each thread says of itself, where it is a mebibyte or more. */
function more(now: Memory, before: Memory): string {
  const parts = now.threads.flatMap(({ thread, ...of }) => {
    const had = before.threads.find((other) => other.thread === thread)
    const grown = Object.entries(of).map(
      ([name, value]) => [name, value - (had?.[name as keyof typeof of] ?? 0)] as const,
    )
    const changes = grown
      .filter(([, value]) => Math.abs(value) >= 1)
      .map(([name, value]) => `${name} ${value.toFixed(0)}`)
    return changes.length > 0 ? [`${thread}: ${changes.join(', ')}`] : []
  })
  const resident = `${(now.resident - before.resident).toFixed(0)} MiB more`
  return parts.length > 0 ? `${resident} (${parts.join('; ')})` : resident
}

const problems: string[] = []

/**
 * What it has once the bodies of clients that were ended have been let go. V8 keeps the pages of a crowd for the next one
 * as long as much is allocated, which it looks back for five seconds to tell: only then does a collection give them back.
 * (Of 600 decisions 120 to 200 MiB, after the first time as after the third, and then 13 to 17.)
 */
async function settled(server: Server, idle: Memory): Promise<Memory> {
  for (const ms of [1000, 1000, QUIET_MS, QUIET_MS]) {
    await pause(ms)
    const now = await server.memory()
    if (now.resident - idle.resident < MOST_MEBIBYTES) return now
  }
  return server.memory()
}

async function attacked(server: Server, { run }: Attack): Promise<Outcome[]> {
  const began = performance.now()
  const called = pause(MOST_MS).then((): Outcome[] => [])
  const outcomes: Outcome[] = []
  while (performance.now() - began < LEAST_MS) outcomes.push(...(await Promise.race([run(server), called])))
  leaveAll()
  return outcomes
}

/** What it has seen, once somebody who came during the attack was answered. */
async function answered(probe: Probe): Promise<Told> {
  for (let report = await probe.report(); ; ) {
    if (report.guests.length > 0) return report
    await pause(200)
    const more = await probe.report()
    report = { listed: [...report.listed, ...more.listed], guests: more.guests }
  }
}

/** Until newcomers were answered so often. */
async function warmed(probe: Probe): Promise<void> {
  for (let guests = 0; guests < 5; ) {
    await pause(200)
    guests += (await probe.report()).guests.length
  }
}

async function modelsOf({ models }: Attack, folder: string, liars: Liars | undefined): Promise<readonly string[]> {
  if (models === 'encoders') return encoders(folder)
  return models === 'hostile' ? hostile(folder) : (liars?.addresses ?? [])
}

/** The most that it has on the disk, until `stop`. */
function watchedDisk(server: Server) {
  let most = 0
  const look = () => {
    most = Math.max(most, server.stored)
  }
  const timer = setInterval(look, 50)
  return {
    stop(): number {
      clearInterval(timer)
      look()
      return most
    },
  }
}

async function meet(attack: Attack, folder: string): Promise<void> {
  const liars = attack.models === 'liars' ? await Liars.start(folder) : undefined
  const server = await Server.start(values.program, await modelsOf(attack, folder, liars))
  const disk = watchedDisk(server)
  const probe = new Probe(server)
  const missed: string[] = []
  const expect = (holds: boolean, what: string) => void (holds || missed.push(what))
  try {
    await warmed(probe)
    const idle = await server.memory()
    await probe.report()
    await server.longestTurn()
    const hostiles = await attacked(server, attack)
    const turn = await server.longestTurn()
    const { listed, guests } = await answered(probe)
    probe.stop()
    const now = await settled(server, idle)
    const grown = now.resident - idle.resident
    const times = guests.map(({ time }) => time)
    const lost = guests.filter(({ status }) => status !== 200).length
    const good = guests.filter((guest) => guest.good).length
    // Half a request is open.
    const half = open(server, { path: '/chat/completions', body: {} }).on('error', () => {})
    half.setHeader('content-length', 100)
    half.write('{')
    await pause(100)
    const { code, ms } = await server.stop('SIGTERM')
    half.destroy()
    const most = disk.stop()
    const { outside } = server
    const statuses = [...new Set(hostiles.map(({ status }) => status))].sort((a, b) => a - b).join(', ')
    console.log(`${attack.name}${statuses && ` (answered with ${statuses})`}`)
    console.log(
      `  GET /models p99 ${both((of) => p99(listed, of))} ms; strict at most ${both((of) => worst(times, of))} ms`,
    )
    console.log(
      `  longest turn ${turn.toFixed(0)} ms of a processor; ${more(now, idle)}; ended in ${ms.toFixed(0)} ms; newcomers: ${good} of ${guests.length} answered`,
    )
    if (liars) console.log(`  at most ${most.toFixed(0)} MiB on the disk, ${server.stored.toFixed(0)} MiB afterwards`)
    expect(p99(listed, 'own') < MOST_MODELS_MS, 'GET /models is late')
    expect(worst(times, 'own') < MOST_STRICT_MS, 'strict JSON is late')
    expect(turn < MOST_TURN_MS, 'a turn of the event loop is long')
    expect(grown < MOST_MEBIBYTES, 'memory is not given back')
    expect(outside.length === 0, `it wrote outside of its store: ${outside.join(', ')}`)
    expect(most < MOST_DISK_MEBIBYTES, `it wrote ${most.toFixed(0)} MiB`)
    expect(!liars || liars.strays.length === 0, `it asked for what it should not: ${liars?.strays.join(', ')}`)
    expect(lost === 0, 'a newcomer was not answered')
    expect(good + lost === guests.length, 'an answer is not what its schema says')
    expect(server.counted >= good, 'the ledger lacks an answer')
    expect(code === 0 && ms < MOST_STOP_MS, `it did not end well: ${code} after ${ms.toFixed(0)} ms`)
  } catch (error) {
    missed.push((error as Error).message)
  } finally {
    disk.stop()
    liars?.stop()
    server.abandon()
  }
  for (const what of missed) {
    console.log(`  MISSED: ${what}`)
    problems.push(`${attack.name}: ${what}`)
  }
}

/** What is offered where nothing else is asked for has its line in the table. */
function unnamed(): string[] {
  const named = new Set(ATTACKS.flatMap(({ endpoints }) => endpoints))
  const all = [...ENDPOINTS, ...messages().endpoints, ...ollama().endpoints] as typeof ENDPOINTS
  return all.filter(({ admin, option, path }) => !admin && !option && !named.has(path)).map(({ path }) => path)
}

async function main(): Promise<void> {
  for (const path of unnamed()) problems.push(`no attack goes to ${path}`)
  const end = performance.now() + Number(values.minutes) * 60_000
  const folder = mkdtempSync(join(tmpdir(), 'hostile-models-'))
  try {
    for (const attack of ATTACKS.filter(({ name }) => new RegExp(values.only).test(name))) {
      if (performance.now() > end) problems.push(`${attack.name}: not reached in ${values.minutes} minutes`)
      else await meet(attack, folder)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  for (const problem of problems) console.error(`MISSED: ${problem}`)
  if (problems.length === 0) console.log('Nobody was held up, and nothing was lost.')
  process.exit(problems.length > 0 ? 1 : 0)
}

await main()
