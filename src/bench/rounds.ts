/** The whole run: candidates are loaded in turn, then asked in turn, round after round. */
import { type BenchReading, type BenchReport, Readings } from './report.js'
import { decideScenario } from './scenarios/decide.js'
import { decode } from './scenarios/decode.js'
import { extractScenario } from './scenarios/extract.js'
import { firstToken } from './scenarios/first-token.js'
import type { Scenario, Settings } from './scenarios/scenario.js'
import { strictJson } from './scenarios/strict-json.js'
import { throughV1 } from './scenarios/through-v1.js'
import { median } from './stats.js'
import type { Candidate, Subject } from './subject.js'
import { type BenchPart, PARTS } from './subject.js'
import { now, setClock } from './time.js'

export interface BenchSurroundings {
  /** Of local-v1. */
  readonly version: string
  /** What the figures were taken on; asked before the run and after it. */
  machine(): Promise<BenchReport['machine']> | BenchReport['machine']
  /** Bytes that the process holds, where that can be known. */
  processBytes?(): number | undefined
  readonly progress?: (message: string) => void
  /** On the clock of `performance`: what would not be done by then is left out, and named in the notes. */
  readonly until?: number
  /** Hears of what is known so far, whenever it is more. */
  readonly soFar?: (report: BenchReport) => void
}

/** Loads that take longer are not repeated: they speak for themselves. */
const REPEATED_BELOW = 5
const MOST_LOADS = 4
const MIB = 2 ** 20

interface Loaded {
  readonly name: string
  readonly subject: Subject
  readonly scenarios: readonly Scenario[]
}

export async function run(
  candidates: readonly Candidate[],
  settings: Settings,
  { version, machine, processBytes, progress = () => {}, until = Number.POSITIVE_INFINITY, soFar }: BenchSurroundings,
): Promise<BenchReport> {
  const date = new Date().toISOString()
  setClock(settings.clock)
  const readings = new Readings()
  const notes: string[] = []
  const loaded: Loaded[] = []
  const before = await machine()
  if (busy(before)) notes.push(BUSY)
  const report = (): BenchReport => ({
    kind: 'local-v1 bench',
    format: 1,
    version,
    date,
    machine: before,
    settings: { ...settings },
    subjects: loaded.map(({ name, subject }) => ({ name, ...subject.about })),
    series: readings.series(),
    notes: [...notes],
  })
  try {
    const opened = await loadInTurn(candidates, settings.rounds, readings, progress)
    for (const { name } of candidates) {
      const subject = opened.get(name)!
      const scenarios = scenariosFor(settings)
      for (const left of scenarios.filter((scenario) => !suits(scenario, subject))) {
        notes.push(`${name}: "${left.name}" is left out, it does not suit this engine or its context.`)
      }
      loaded.push({ name, subject, scenarios })
    }
    const left = await takeRounds(loaded, settings, until, (message, name, ask) => {
      progress(message)
      return ask().then((found) => {
        readings.add(name, found)
        if (found.length > 0) soFar?.(report())
      })
    })
    for (const each of left) notes.push(`There was no time for ${each}.`)
    for (const { name, subject } of loaded) {
      const bytes = subject.deviceBytes()
      if (bytes !== undefined) readings.add(name, [{ metric: 'device-memory', value: bytes / MIB }])
      const held = loaded.length === 1 ? processBytes?.() : undefined
      if (held !== undefined) readings.add(name, [{ metric: 'process-memory', value: held / MIB }])
    }
    return { ...report(), machine: { ...before, ...afterwards(await machine()) } }
  } finally {
    for (const { subject } of loaded) await subject.close()
  }
}

function suits(scenario: Scenario, subject: Subject): boolean {
  return !subject.skips?.includes(scenario.part) && scenario.suits(subject)
}

function scenariosFor({ promptLengths, batches, tokens, decisions, documents, only }: Settings): Scenario[] {
  const all: Readonly<Record<BenchPart, () => Scenario[]>> = {
    prompt: () => promptLengths.map(firstToken),
    decode: () => promptLengths.map((length) => decode(length, batches, tokens)),
    json: () => [strictJson()],
    v1: () => [throughV1(tokens)],
    decide: () => [decideScenario(decisions, documents)],
    extract: () => [extractScenario()],
  }
  return PARTS.filter((part) => only.includes(part)).flatMap((part) => all[part]())
}

/** Load after load of each, A B A B; the last ones stay. */
async function loadInTurn(
  candidates: readonly Candidate[],
  rounds: number,
  readings: Readings,
  progress: (message: string) => void,
): Promise<Map<string, Subject>> {
  const open = new Map<string, Subject>()
  const slow = new Set<string>()
  const times = Math.min(rounds + 1, MOST_LOADS)
  try {
    for (let time = 0; time < times; time++) {
      for (const { name, open: load } of candidates) {
        if (slow.has(name)) continue
        progress(`${name}: load ${time + 1}`)
        await open.get(name)?.close()
        open.delete(name)
        const start = now()
        const subject = await load()
        const seconds = (now() - start) / 1000
        open.set(name, subject)
        readings.add(name, [{ metric: time === 0 ? 'load-first' : 'load', value: seconds }])
        if (seconds > REPEATED_BELOW) slow.add(name)
      }
    }
    return open
  } catch (error) {
    for (const subject of open.values()) await subject.close().catch(() => {})
    throw error
  }
}

type Take = (message: string, name: string, ask: () => Promise<readonly BenchReading[]>) => Promise<void>

/**
 * Every scenario of every subject once per round, subjects in turn and each round the other way about. Returns what was
 * left out, because it would not have been done in time.
 */
async function takeRounds(
  loaded: readonly Loaded[],
  { rounds, leastSeconds }: Settings,
  until: number,
  take: Take,
): Promise<Set<string>> {
  const left = new Set<string>()
  const lengths = new Map<Scenario, number>()
  const count = Math.max(0, ...loaded.map(({ scenarios }) => scenarios.length))
  for (let round = 0; round <= rounds; round++) {
    const turn = round % 2 === 0 ? loaded : [...loaded].reverse()
    for (let i = 0; i < count; i++) {
      for (const { name, subject, scenarios } of turn) {
        const scenario = scenarios[i]!
        if (!suits(scenario, subject)) continue
        const when = round === 0 ? 'warm-up' : `round ${round} of ${rounds}`
        const start = performance.now()
        if (start + (lengths.get(scenario) ?? 0) > until) {
          left.add(`${when} of ${name}, ${scenario.name}`)
          continue
        }
        await take(`${when}: ${name}, ${scenario.name}`, name, async () => {
          const found = await askFor(leastSeconds, () => scenario.run(subject))
          return round > 0 ? found : []
        })
        lengths.set(scenario, performance.now() - start)
      }
    }
  }
  return left
}

/** Asks again until the time has gone by; of each figure, the median. */
async function askFor(seconds: number, ask: () => Promise<readonly BenchReading[]>): Promise<BenchReading[]> {
  const until = performance.now() + seconds * 1000
  const replies: (readonly BenchReading[])[] = []
  do replies.push(await ask())
  while (performance.now() < until)
  return replies[0]!.map((reading, i) => ({ ...reading, value: median(replies.map((readings) => readings[i]!.value)) }))
}

const BUSY =
  'Other programs were running as this began: see load. --clock processor with --threads 1 is disturbed least.'
/** Programs that want a core beside a run of one's own. */
const IDLE = 0.7

function busy({ load }: BenchReport['machine']): boolean {
  return typeof load === 'number' && load > IDLE
}

/** What may have changed while it ran, beside what it was. */
function afterwards(machine: BenchReport['machine']): BenchReport['machine'] {
  return 'load' in machine ? { loadAfter: machine.load! } : {}
}
