/**
 * Clients that mean no good against a real server: `local-v1 serve` with nano over HTTP on this machine alone. While they
 * do what they can, another caller is to notice little of it: its `GET /models` and its strict JSON are timed, all of its
 * requests are answered, memory stays where it was and the ledger has every answer. Exit code 1 otherwise.
 *
 * `tsx scripts/check-hostile-clients.ts [--program dist/cli.js] [--plain] [--only PATTERN]`; `--plain` for a build without
 * the options `--stall` and `--timeout`, `--only` for the attacks whose names match. Times hang on the machine: beside each stands how many times that of the idle server it is.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { CALLERS, type CallerName, type Memory, MODEL, Server } from './hostile-clients/server.js'

const { values } = parseArgs({
  options: {
    program: { type: 'string', default: 'dist/cli.js' },
    plain: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
})

const MOST_MODELS_MS = 100
const MOST_STRICT_MS = 1000
/**
 * More than it had when it was idle, after each round: what the system counts as resident, with the garbage collected
 * first, as garbage says when a collector last ran and no more. It takes in what the model and V8 have touched since, and
 * what the C library keeps of freed buffers: it is what users get.
 */
const MOST_MEBIBYTES = 100
const STALL_SECONDS = 3
/** After this an attack is called off: what has not been answered by then counts as unanswered. */
const ATTACK_MS = 30_000
/** Shorter ones are repeated: of thirty times, the 99th of a hundred is the worst, and says nothing of the next thirty. */
const LEAST_MS = 3000
/** In between, connections that the system has put in line are taken: who is behind them is nobody's to choose. */
const BETWEEN_MS = 300
const STOP_SECONDS = 5

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

interface Outcome {
  /** 0: no answer came. */
  readonly status: number
  readonly text: string
  readonly ms: number
}

/** One request, left open for `use` to do with as it likes. */
function open(server: Server, caller: CallerName, body: string | undefined, path: string): ClientRequest {
  const headers = { authorization: `Bearer ${CALLERS[caller]}`, 'content-type': 'application/json' }
  const method = body === undefined ? 'GET' : 'POST'
  return request(`${server.origin}/v1${path}`, { agent, headers, method })
}

function ask(server: Server, caller: CallerName, body?: object, path = '/chat/completions'): Promise<Outcome> {
  const began = performance.now()
  return new Promise((resolve) => {
    const text = body && JSON.stringify(body)
    const settle = (status: number, said = '') => {
      clearTimeout(late)
      resolve({ status, text: said, ms: performance.now() - began })
    }
    const sent = open(server, caller, text, path)
    const late = setTimeout(() => {
      settle(0)
      sent.destroy()
    }, ATTACK_MS)
    sent.once('error', () => settle(0))
    sent.once('response', (response: IncomingMessage) => {
      let said = ''
      response.setEncoding('utf8').on('data', (piece) => {
        said += piece
      })
      response.once('end', () => settle(response.statusCode!, said)).once('error', () => settle(0))
    })
    sent.end(text)
  })
}

const user = (content: string) => [{ role: 'user', content }]
const short = (content = 'Hello') => ({ model: MODEL, messages: user(content), max_tokens: 4 })
const strict = (schema: object) => ({
  model: MODEL,
  messages: user('Anna Berg is 31 years old and lives in Bern.'),
  response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
})
const closed = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const PERSON = closed({ name: { type: 'string', maxLength: 12 }, age: { type: 'integer', minimum: 0, maximum: 120 } })

/** Small to send, and not to compile: each of some objects excludes each of the others. */
function costly(i: number) {
  const parts = Array.from({ length: 6 }, (_, k) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 3 }, (_, p) => [`f${p}_${i}_${k}`, { type: 'string', maxLength: 9 }]),
    ),
    required: [`f0_${i}_${k}`],
  }))
  return strict({ oneOf: parts })
}

/** Reads nothing of its answer. Asks for one that is long whatever the model would like to say, more than the system keeps of a stream. */
function unread(server: Server): () => void {
  const { hostname, port } = new URL(server.origin)
  const long = { ...strict({ type: 'array', items: { type: 'boolean' }, minItems: 170 }), max_tokens: 900, n: 8 }
  const body = JSON.stringify({ ...long, stream: true, logprobs: true, top_logprobs: 20 })
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.pause()
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${CALLERS.flooder}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  return () => void socket.destroy()
}

/** An attack: begins, and gives back how it is called off and, where answers are of interest, all of them. */
interface Attack {
  readonly name: string
  run(server: Server): Promise<Outcome[]>
}

const all = (count: number, one: (i: number) => Promise<Outcome>) =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)))

/** No request is to find in a cache what an earlier one has left there. */
let fresh = 0

const ATTACKS: readonly Attack[] = [
  {
    name: 'a prompt of 1 MB',
    run: (server) => all(1, () => ask(server, 'flooder', short(`${fresh++} ${'word '.repeat(200_000)}`))),
  },
  {
    name: 'eight prompts of 1 MB, and eight that are as long as fits',
    run: (server) =>
      all(16, (i) => ask(server, 'flooder', short((i < 8 ? ' ' : 'apprenticeship').repeat(i < 8 ? 1_000_000 : 900)))),
  },
  { name: '100 costly schemas', run: (server) => all(100, () => ask(server, 'flooder', costly(fresh++))) },
  {
    name: 'eight streams that nobody reads',
    async run(server) {
      const streams = Array.from({ length: 8 }, () => unread(server))
      await pause((STALL_SECONDS + 2) * 1000)
      for (const close of streams) close()
      return []
    },
  },
  { name: 'a flood of 160 at once', run: (server) => all(320, () => ask(server, 'flooder', short())) },
  {
    name: '20,000 requests with projects of their own, refused',
    async run(server) {
      const outcomes: Outcome[] = []
      for (let round = 0; round < 200; round++) outcomes.push(...(await all(100, () => refusedWithProject(server))))
      return outcomes
    },
  },
  {
    name: '300 bodies of 1 MB that never end',
    async run(server) {
      const half = Array.from({ length: 300 }, () => {
        const sent = open(server, 'flooder', '', '/chat/completions')
        sent.on('error', () => {}).on('response', (response) => response.resume())
        sent.setHeader('content-length', 1_000_000)
        sent.write(Buffer.alloc(900_000, 0x20))
        return sent
      })
      await pause(5000)
      for (const sent of half) sent.destroy()
      return []
    },
  },
  {
    name: '1,000 clients that leave',
    async run(server) {
      for (let round = 0; round < 10; round++) {
        const gone = Array.from({ length: 100 }, (_, i) => {
          const body = JSON.stringify(i % 2 ? costly(fresh++) : short(`${'words '.repeat(500)}${i}`))
          const sent = open(server, 'flooder', body, '/chat/completions').on('error', () => {})
          sent.on('response', (response) => response.resume().on('error', () => {}))
          sent.end(body)
          return sent
        })
        await pause(50)
        for (const sent of gone) sent.destroy()
      }
      return []
    },
  },
]

let project = 0
function refusedWithProject(server: Server): Promise<Outcome> {
  return new Promise((resolve) => {
    const began = performance.now()
    const headers = { authorization: `Bearer ${CALLERS.flooder}`, 'openai-project': `team/p${project++}` }
    const settle = (status: number) => resolve({ status, text: '', ms: performance.now() - began })
    const sent = request(`${server.origin}/v1/chat/completions`, { agent: kept, method: 'POST', headers })
    sent.once('response', (response) => response.resume().once('end', () => settle(response.statusCode!)))
    sent.once('error', () => settle(0)).end()
  })
}
const kept = new Agent({ keepAlive: true, maxSockets: 50 })

class Probe {
  readonly #process: ChildProcess

  constructor(server: Server) {
    this.#process = fork(new URL('./hostile-clients/probe.ts', import.meta.url), [server.origin, CALLERS.probe])
  }

  /** Milliseconds of every `GET /models` since the last time. */
  times(): Promise<number[]> {
    return new Promise((resolve) => {
      this.#process.once('message', (times) => resolve(times as number[]))
      this.#process.send('times')
    })
  }

  stop(): void {
    this.#process.disconnect()
  }
}

function p99(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? Number.POSITIVE_INFINITY
}

const problems: string[] = []
const expect = (holds: boolean, what: string) => {
  if (!holds) problems.push(what)
}
const answered: Outcome[] = []

/** A newcomer asks, one request after the other, for as long as the attack lasts; ten times where it is short. */
async function newcomer(server: Server, over: () => boolean): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const end = performance.now() + ATTACK_MS
  while ((outcomes.length < 10 || !over()) && performance.now() < end) {
    outcomes.push(await ask(server, 'newcomer', outcomes.length % 2 ? strict(PERSON) : { ...short(), max_tokens: 8 }))
    await pause(50)
    if (outcomes.length >= 60) break
  }
  return outcomes
}

/** Unanswered ones are counted apart. */
function isPerson({ status, text }: Outcome): boolean {
  if (status !== 200) return true
  const { choices } = JSON.parse(text) as { choices: { message: { content: string } }[] }
  const { name, age } = JSON.parse(choices[0]!.message.content) as { name: unknown; age: unknown }
  return typeof name === 'string' && Number.isInteger(age)
}

async function attack(server: Server, probe: Probe, { name, run }: Attack, idle: Figures): Promise<void> {
  await probe.times()
  let over = false
  const guests = newcomer(server, () => over)
  const called = pause(ATTACK_MS).then((): Outcome[] => [])
  const began = performance.now()
  const hostile: Outcome[] = []
  for (;;) {
    hostile.push(...(await Promise.race([run(server), called])))
    if (performance.now() - began > LEAST_MS) break
    await pause(BETWEEN_MS)
  }
  over = true
  const outcomes = await guests
  const models = p99(await probe.times())
  const strictMs = outcomes.filter((_, i) => i % 2 === 1).map(({ ms }) => ms)
  const worst = Math.max(...strictMs)
  const lost = outcomes.filter(({ status }) => status !== 200).length
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const statuses = [...new Set(hostile.map(({ status }) => status))].sort().join(', ')
  console.log(`${name} (${seconds} s${statuses && `; answered with ${statuses}`})`)
  console.log(`  GET /models p99 ${models.toFixed(0)} ms, ${(models / idle.models).toFixed(1)} times idle`)
  console.log(`  strict JSON at most ${worst.toFixed(0)} ms, ${(worst / idle.strict).toFixed(1)} times idle`)
  console.log(`  newcomer: ${outcomes.length - lost} of ${outcomes.length} answered; ${shown(await server.memory())}`)
  expect(models < MOST_MODELS_MS, `${name}: GET /models took ${models.toFixed(0)} ms at p99`)
  expect(worst < MOST_STRICT_MS, `${name}: strict JSON took ${worst.toFixed(0)} ms`)
  expect(lost === 0, `${name}: ${lost} of a newcomer's ${outcomes.length} requests were not answered`)
  expect(
    outcomes.every((each, i) => i % 2 === 0 || isPerson(each)),
    `${name}: an answer was not what its schema says`,
  )
  answered.push(...hostile, ...outcomes)
}

/** What it has once the bodies of clients that were ended have been let go, which takes a busy machine a while. */
async function settled(server: Server, idle: Memory): Promise<Memory> {
  for (let tries = 1; ; tries++) {
    await pause(2000)
    const now = await server.memory()
    if (tries === 5 || now.external - idle.external < 5) return now
  }
}

function shown({ resident, heap, heapReserved, external }: Memory): string {
  const round = (mebibytes: number) => mebibytes.toFixed(0)
  return `${round(resident)} MiB (heap ${round(heap)} of ${round(heapReserved)}, buffers ${round(external)})`
}

interface Figures {
  readonly models: number
  readonly strict: number
}

async function calm(server: Server, probe: Probe): Promise<Figures> {
  for (let i = 0; i < 10; i++) answered.push(await ask(server, 'newcomer', i % 2 ? strict(PERSON) : short()))
  await probe.times()
  const times: number[] = []
  for (let i = 0; i < 10; i++) {
    const outcome = await ask(server, 'newcomer', strict(PERSON))
    answered.push(outcome)
    times.push(outcome.ms)
  }
  await pause(1000)
  return { models: p99(await probe.times()), strict: Math.max(...times) }
}

async function main(): Promise<void> {
  const limits = values.plain ? [] : ['--stall', `${STALL_SECONDS}`, '--timeout', '60']
  const server = await Server.start(values.program, limits)
  const probe = new Probe(server)
  try {
    const idle = await calm(server, probe)
    const memory = [await server.memory()]
    console.log(
      `idle: GET /models p99 ${idle.models.toFixed(1)} ms, strict JSON ${idle.strict.toFixed(0)} ms, ${shown(memory[0]!)}`,
    )
    // Twice: what a server needs for its work when it first comes is no leak, what it needs once more is.
    for (let round = 1; round <= 2; round++) {
      console.log(`\nround ${round}`)
      for (const each of ATTACKS.filter(({ name }) => new RegExp(values.only).test(name)))
        await attack(server, probe, each, idle)
      memory.push(await settled(server, memory[0]!))
    }
    console.log(`\nmemory: ${memory.map(shown).join('\n        ')}`)
    const grown = Math.max(...memory.map(({ resident }) => resident)) - memory[0]!.resident
    expect(grown < MOST_MEBIBYTES, `memory grew by ${grown.toFixed(0)} MiB`)
    const good = answered.filter(({ status }) => status === 200).length
    const counted = server.counted.filter((outcome) => outcome === 'ok').length
    console.log(`ledger: ${counted} answers counted, ${good} received`)
    expect(counted >= good, `the ledger has ${counted} of ${good} answers`)
    // Half a request is open, and an answer is on its way.
    const half = open(server, 'flooder', '', '/chat/completions').on('error', () => {})
    half.setHeader('content-length', 100)
    half.write('{')
    await pause(200)
    probe.stop()
    const { code, seconds } = await server.stop('SIGTERM')
    console.log(`SIGTERM: exit code ${code} after ${seconds.toFixed(1)} s`)
    expect(code === 0 && seconds < STOP_SECONDS, `it ended with ${code} after ${seconds.toFixed(1)} s`)
    half.destroy()
  } finally {
    server.abandon()
  }
  for (const problem of problems) console.error(`MISSED: ${problem}`)
  if (problems.length === 0) console.log('Nobody was held up, and nothing was lost.')
  process.exit(problems.length > 0 ? 1 : 0)
}

await main()
