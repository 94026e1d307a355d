/**
 * How good local-v1/nano is on what it has never seen, through the real `/v1` on the CPU device:
 * `tsx scripts/check-nano.ts [--cases a.jsonl,b.jsonl] [-m folder] [--limit n] [--show n] [--no-chat] [--no-decisions]`. `-m` names another
 * model, by its folder or as `serve` takes it (`hf:owner/repo`), and `--cases` texts of your own.
 * `--answers file` judges the answers in it, one JSON a line, instead of the model's; `--save file` keeps the model's.
 * `--layout spaced`, `--layout '{"indent":2}'`, `--layout '{"whitespace":20}'`: answers laid out so; `--layout` alone asks
 * under each, and prints what is right under which. `--extractions`: what the fields that are texts and numbers come to
 * by `POST /extractions`, beside strict JSON.
 * A case: `{ split, system, user, schema, answer, kinds? }`, asked greedily with strict JSON and judged field by field;
 * then the questions of `eval/decisions.txt`, each as a strict enum and by `/decisions`; then greetings and off-topic questions at temperatures from 0 to 1, of which none may run on.
 * Exits with 1 when a bar is missed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { webgpu } from '../src/engines/webgpu/index.js'
import { createV1, type V1 } from '../src/index.js'
import { isRecord, sameJson } from '../src/platform/json.js'
import { type Decision, readDecisions } from './decisions.js'

interface Case {
  readonly split: string
  readonly system: string
  readonly user: string
  readonly schema: Record<string, unknown>
  readonly answer: Record<string, unknown>
  /** Of each field of the schema: string, number, array, ... */
  readonly kinds?: Record<string, string>
}

/** Shares of exactly right fields. Splits without a bar are only shown. */
const BARS: Record<string, number> = {
  values: 0.92,
  templates: 0.85,
  fields: 0.85,
  domains: 0.75,
  natural: 0.7,
  apart: 0.7,
  nested: 0.7,
  long: 0.6,
}
/** Of answers that are right in every field. */
const WHOLE_BARS: Record<string, number> = { natural: 0.15, apart: 0.15 }
const DECISIONS_BAR = 0.75
const TEMPERATURES = [0, 0.25, 0.5, 0.75, 1]
/** What a greeting or a refusal may take; more is an answer that runs on. */
const LONGEST_TALK = 60
const AT_ONCE = 4
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** Those that `--layout` alone compares. */
const LAYOUTS = ['compact', 'spaced', '{"indent":2}', '{"whitespace":20}']
/** An option without a value where one may stand. */
const args = process.argv.slice(2).flatMap((arg, i, all) => {
  const isAlone = arg === '--layout' && (all[i + 1] ?? '-').startsWith('-')
  return isAlone ? ['--layout', LAYOUTS.join('|')] : [arg]
})

const { values: options } = parseArgs({
  args,
  options: {
    cases: {
      type: 'string',
      default: ['held-out', 'natural', 'apart'].map((name) => `${root}/models/nano/eval/${name}.jsonl`).join(','),
    },
    model: { type: 'string', short: 'm', default: `${root}/models/nano` },
    limit: { type: 'string', default: '1000' },
    show: { type: 'string', default: '0' },
    answers: { type: 'string' },
    save: { type: 'string' },
    layout: { type: 'string' },
    extractions: { type: 'boolean', default: false },
    'no-chat': { type: 'boolean', default: false },
    'no-decisions': { type: 'boolean', default: false },
  },
})

const layoutOf = (text: string): unknown => (text.startsWith('{') ? JSON.parse(text) : text)

class Tally {
  readonly #rows = new Map<string, { right: number; total: number }>()

  add(key: string, right: boolean): void {
    const row = this.#rows.get(key) ?? { right: 0, total: 0 }
    row.total++
    if (right) row.right++
    this.#rows.set(key, row)
  }

  share(key: string): number {
    const row = this.#rows.get(key)
    return row === undefined ? 0 : row.right / row.total
  }

  shareOfAll(): number {
    const rows = [...this.#rows.values()]
    return rows.reduce((sum, row) => sum + row.right, 0) / rows.reduce((sum, row) => sum + row.total, 0)
  }

  print(title: string, counted: string, bars: Record<string, number> = {}): void {
    console.log(`\n${title.padEnd(12)} right ${counted.padStart(7)}  exact`)
    for (const [key, { right, total }] of this.#rows) {
      const bar = bars[key] === undefined ? '' : `  (target ${(100 * bars[key]).toFixed(0)} %)`
      const share = `${((100 * right) / total).toFixed(1)} %`
      console.log(
        `${key.padEnd(12)} ${String(right).padStart(5)} ${String(total).padStart(7)} ${share.padStart(7)}${bar}`,
      )
    }
  }

  keys(): string[] {
    return [...this.#rows.keys()]
  }
}

const cases = options.cases.split(',').flatMap((path) => readLines(path).slice(0, Number(options.limit)).map(parseCase))
const engine = webgpu({
  models: [{ id: 'local-v1/nano', from: existsSync(options.model) ? resolve(options.model) : options.model }],
  device: 'cpu',
  log: () => {},
})
const v1 = createV1({ engine, keys: 'none' })
const started = performance.now()
const given = options.answers === undefined ? undefined : readLines(options.answers).map((line) => JSON.parse(line))
if (options.layout?.includes('|')) {
  await compareLayouts(v1)
  process.exit(0)
}
if (options.extractions) {
  await compareExtractions(v1)
  process.exit(0)
}
const answers = given ?? (await each(cases, (one) => ask(v1, one, options.layout)))
if (options.save) writeFileSync(options.save, answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''))
const missed = report(cases, answers)
if (!given && !options['no-decisions'] && !(await decidesWell(v1))) missed.push('decisions')
if (!options['no-chat'] && !given && !(await talkEnds(v1))) missed.push('talk')
await v1.close()
if (missed.length > 0) {
  console.log(`Below the target: ${missed.join(', ')}`)
  process.exitCode = 1
}

function readLines(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n').filter(Boolean)
}

function parseCase(line: string): Case {
  return JSON.parse(line)
}

/** In the order of `items`, some at once. */
async function each<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await run(items[i] as T)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}

interface Completion {
  readonly choices?: [{ message: { content: string } }]
  readonly usage?: { completion_tokens: number }
  readonly error?: { message: string }
}

async function post<T>(v1: V1, path: string, body: Record<string, unknown>): Promise<T> {
  const response = await v1.fetch(
    new Request(`http://localhost/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local-v1/nano', ...body }),
    }),
  )
  return (await response.json()) as T
}

async function ask(v1: V1, { system, user, schema }: Case, layout?: string): Promise<unknown> {
  const answer = await post<Completion>(v1, 'chat/completions', {
    messages: [...(system ? [{ role: 'system', content: system }] : []), { role: 'user', content: user }],
    temperature: 0,
    max_tokens: 400,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
    ...(layout !== undefined && { layout: layoutOf(layout) }),
  })
  if (!answer.choices) throw new Error(answer.error?.message ?? 'no answer')
  try {
    return JSON.parse(answer.choices[0].message.content)
  } catch {
    return { broken: answer.choices[0].message.content }
  }
}

/** The same questions under each layout: exactly right fields, answers that are wholly right, and what they cost. */
async function compareLayouts(v1: V1): Promise<void> {
  console.log(`${cases.length} texts\n${'layout'.padEnd(18)} fields exactly right   answers right in every field`)
  for (const layout of LAYOUTS) {
    const answers = await each(cases, (one) => ask(v1, one, layout))
    const judged = cases.map((one, i) => judgedFields(one, (answers[i] ?? {}) as Record<string, unknown>))
    const fields = judged.flat()
    const right = fields.filter(({ good }) => good).length
    const whole = judged.filter((some) => some.every(({ good }) => good)).length
    const share = (part: number, all: number) => `${part} of ${all} (${((100 * part) / all).toFixed(1)} %)`
    console.log(`${layout.padEnd(18)} ${share(right, fields.length).padEnd(22)} ${share(whole, cases.length)}`)
  }
  await v1.close()
}

interface Extracted {
  readonly answers?: Readonly<Record<string, { readonly value: unknown }>>
  readonly error?: { readonly message: string }
}

/** Texts and numbers that people would ask for: of each kind how many are exactly right, by which endpoint. */
async function compareExtractions(v1: V1): Promise<void> {
  const tallies = { extractions: new Tally(), 'strict JSON': new Tally() }
  await each(cases, async (one) => {
    const properties = Object.entries((one.schema.properties ?? {}) as Record<string, Record<string, unknown>>)
    const fields = properties.flatMap(([name, { type, enum: choices, description }]): [string, { type: string }][] => {
      const kind = [type].flat().find((each) => each !== 'null')
      if (choices || one.answer[name] === null) return []
      const note = description === undefined ? {} : { instructions: description }
      if (kind === 'string') return [[name, { type: 'text', ...note }]]
      const integer = kind === 'integer' ? { integer: true } : {}
      return kind === 'number' || kind === 'integer' ? [[name, { type: 'number', ...integer, ...note }]] : []
    })
    if (fields.length === 0) return
    const body = { state: one.user, fields: Object.fromEntries(fields) }
    const { answers, error } = await post<Extracted>(v1, 'extractions', body)
    if (!answers) throw new Error(error?.message)
    const document = (await ask(v1, one)) as Record<string, unknown>
    for (const [name, { type }] of fields) {
      tallies.extractions.add(type, sameJson(answers[name]?.value, one.answer[name]))
      tallies['strict JSON'].add(type, sameJson(document[name], one.answer[name]))
    }
  })
  for (const [title, tally] of Object.entries(tallies)) tally.print(title, 'fields')
  await v1.close()
}

/** Each question alone, its choices as an enum; chance and always the first show what a share is worth. */
async function decidesWell(v1: V1): Promise<boolean> {
  const questions = readDecisions(readFileSync(`${root}/models/nano/eval/decisions.txt`, 'utf8')).slice(
    0,
    Number(options.limit),
  )
  const tally = new Tally()
  const got = await each(questions, async ({ text, question, choices }) => {
    const schema = {
      type: 'object',
      properties: { answer: { enum: choices, description: question } },
      required: ['answer'],
      additionalProperties: false,
    }
    return (await ask(v1, { split: 'decisions', system: '', user: text, schema, answer: {} })) as { answer: string }
  })
  questions.forEach(({ kind, right }, i) => {
    tally.add(kind, got[i]?.answer === right)
    tally.add('decisions', got[i]?.answer === right)
  })
  tally.print('decision', 'asked', { decisions: DECISIONS_BAR })
  const chance = questions.reduce((sum, { choices }) => sum + 1 / choices.length, 0)
  const best = Math.max(...[0, 1, 2, 3].map((at) => questions.filter((q) => q.choices[at] === q.right).length))
  console.log(
    `chance ${((100 * chance) / questions.length).toFixed(1)} %, always the same position ${((100 * best) / questions.length).toFixed(1)} %`,
  )
  return (await byDecisions(v1, questions)) >= DECISIONS_BAR
}

interface Decided {
  readonly answers: readonly {
    readonly probability: number
    readonly probabilities: readonly { readonly value: string; readonly label: string; readonly probability: number }[]
  }[]
}

/** The same through `POST /decisions`, the questions of one text together; the share that is right. */
async function byDecisions(v1: V1, questions: readonly Decision[]): Promise<number> {
  const tally = new Tally()
  const sure: { share: number; right: boolean }[] = []
  await each([...new Set(questions.map(({ text }) => text))], async (input) => {
    const own = questions.filter(({ text }) => text === input)
    const { answers } = await post<Decided>(v1, 'decisions', { input, questions: own.map(asQuestion) })
    own.forEach(({ kind, choices, right }, i) => {
      const { probability = 0, probabilities = [] } = answers[i] ?? {}
      const shares = kind === 'predicate' ? [probability, 1 - probability] : probabilities.map((p) => p.probability)
      const share = Math.max(...shares)
      const good = choices[shares.indexOf(share)] === right
      sure.push({ share, right: good })
      tally.add(kind, good)
      tally.add('decisions', good)
    })
  })
  tally.print('by decisions', 'asked', { decisions: DECISIONS_BAR })
  console.log(`calibration error ${calibrationError(sure).toFixed(2)}`)
  return tally.share('decisions')
}

function asQuestion({ kind: type, question, choices }: Decision) {
  const instructions = question.replace(/^is it true: /, '')
  if (type === 'choice') return { type, instructions, choices: choices.map((value) => ({ value })) }
  if (type === 'score') return { type, instructions, levels: choices.map((label) => ({ label })) }
  return { type, instructions }
}

/** How far, over ten bins, the shares that were said lie from the shares that were right. */
function calibrationError(answers: readonly { share: number; right: boolean }[]): number {
  const off = new Array<number>(10).fill(0)
  for (const { share, right } of answers) {
    const bin = Math.min(9, Math.floor(10 * share))
    off[bin] = (off[bin] ?? 0) + share - Number(right)
  }
  return off.reduce((sum, by) => sum + Math.abs(by), 0) / answers.length
}

/** Plain talk has no grammar that ends it: the model has to. */
async function talkEnds(v1: V1): Promise<boolean> {
  const prompts = readLines(`${root}/models/nano/eval/chat.txt`)
  const calls = TEMPERATURES.flatMap((temperature) => prompts.map((content) => ({ temperature, content })))
  const lengths = await each(calls, async ({ temperature, content }) => {
    const messages = [{ role: 'user', content }]
    const answer = await post<Completion>(v1, 'chat/completions', {
      messages,
      temperature,
      seed: 1,
      max_tokens: 4 * LONGEST_TALK,
    })
    return answer.usage?.completion_tokens ?? Number.POSITIVE_INFINITY
  })
  const longer = lengths.filter((length) => length > LONGEST_TALK).length
  console.log(
    `\n${longer} of ${calls.length} answers to greetings and off-topic questions are longer than ${LONGEST_TALK} tokens`,
  )
  return longer === 0
}

/** Prints the tables; the bars that were missed. */
function report(cases: readonly Case[], answers: readonly unknown[]): string[] {
  const splits = new Tally()
  const kinds = new Tally()
  const whole = new Tally()
  const stretches = new Tally()
  let shown = Number(options.show)
  cases.forEach((one, i) => {
    const got = (answers[i] ?? {}) as Record<string, unknown>
    let right = true
    for (const { field, kind, good } of judgedFields(one, got)) {
      splits.add(one.split, good)
      kinds.add(one.kinds?.[field] ?? kind, good)
      if (standsIn(one.user, one.answer[field])) stretches.add(one.split, good)
      right &&= good
    }
    whole.add(one.split, right)
    if (!right && shown-- > 0)
      console.log(`${one.user}\n  want ${JSON.stringify(one.answer)}\n  got  ${JSON.stringify(got).slice(0, 500)}\n`)
  })
  splits.print('split', 'fields', BARS)
  kinds.print('kind', 'fields')
  whole.print('whole', 'answers', WHOLE_BARS)
  stretches.print('stretch', 'fields')
  const share = whole.shareOfAll()
  const seconds = (performance.now() - started) / 1000
  console.log(
    `\n${(100 * share).toFixed(1)} % of ${cases.length} answers right in every field; ${seconds.toFixed(1)} s`,
  )
  const below = (tally: Tally, bars: Record<string, number>) =>
    tally.keys().filter((split) => tally.share(split) < (bars[split] ?? 0))
  return [...below(splits, BARS), ...below(whole, WHOLE_BARS).map((split) => `whole answers (${split})`)]
}

/** Whether a value, which is no object or list, is a stretch of the text: a number as its digits. */
function standsIn(text: string, value: unknown): boolean {
  if (typeof value === 'string') return text.includes(value)
  return (
    typeof value === 'number' &&
    (text.match(/\d[\d,]*(\.\d+)?/g) ?? []).some((n) => Number(n.replaceAll(',', '')) === value)
  )
}

function judgedFields(one: Case, got: Record<string, unknown>): { field: string; kind: string; good: boolean }[] {
  const fields = Object.keys((one.schema.properties as Record<string, unknown>) ?? one.answer)
  return fields.flatMap((field) => judge(got[field], one.answer[field]).map(([kind, good]) => ({ field, kind, good })))
}

/** What is asked of one field: itself, or each field of the objects in it. A record too many or too few is a fault. */
function judge(got: unknown, want: unknown): [kind: string, right: boolean][] {
  if (isRecord(want)) {
    const inside = isRecord(got) ? got : {}
    return Object.keys(want).flatMap((key) => judge(inside[key], want[key]))
  }
  if (Array.isArray(want) && want.some(isRecord)) {
    const list = Array.isArray(got) ? got : []
    const extra = list.length > want.length ? [['record', false] as [string, boolean]] : []
    return [...want.flatMap((record, i) => judge(list[i], record)), ...extra]
  }
  return [[kindOf(want), sameJson(got, want)]]
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'absent'
  return Array.isArray(value) ? 'array' : typeof value
}
