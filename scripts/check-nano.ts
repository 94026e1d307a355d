/**
 * Exact match per field of local-v1/nano on cases it has never seen, through the real `/v1` with strict JSON:
 * `tsx scripts/check-nano.ts [--cases file.jsonl] [--model folder] [--limit n] [--show n]`.
 * A case: `{ split, system, user, schema, answer, kinds? }`. Exits with 1 when a bar is missed.
 */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { webgpu } from '../src/engines/webgpu/index.js'
import { createV1, type V1 } from '../src/index.js'

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
const BARS: Record<string, number> = { values: 0.85, templates: 0.85, domains: 0.6, fields: 0.6 }
const AT_ONCE = 4
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')

const { values: options } = parseArgs({
  options: {
    cases: { type: 'string', default: `${root}/models/nano/eval/held-out.jsonl` },
    model: { type: 'string', default: `${root}/models/nano` },
    limit: { type: 'string', default: '400' },
    show: { type: 'string', default: '0' },
  },
})

class Tally {
  readonly #rows = new Map<string, { right: number; asked: number }>()

  add(key: string, right: boolean): void {
    const row = this.#rows.get(key) ?? { right: 0, asked: 0 }
    row.asked++
    if (right) row.right++
    this.#rows.set(key, row)
  }

  share(key: string): number {
    const row = this.#rows.get(key)
    return row === undefined ? 0 : row.right / row.asked
  }

  print(title: string, bars: Record<string, number> = {}): void {
    console.log(`\n${title.padEnd(12)} right  fields  exact`)
    for (const [key, { right, asked }] of this.#rows) {
      const bar = bars[key] === undefined ? '' : `  (bar ${(100 * bars[key]).toFixed(0)} %)`
      const share = `${((100 * right) / asked).toFixed(1)} %`
      console.log(
        `${key.padEnd(12)} ${String(right).padStart(5)} ${String(asked).padStart(7)} ${share.padStart(7)}${bar}`,
      )
    }
  }

  keys(): string[] {
    return [...this.#rows.keys()]
  }
}

const cases = readCases(options.cases, Number(options.limit))
const engine = webgpu({
  models: [{ id: 'local-v1/nano', from: resolve(options.model) }],
  device: 'cpu',
  log: () => {},
})
const v1 = createV1({ engine, keys: 'none' })
const started = performance.now()
const answers = await askAll(v1, cases)
await v1.close()
report(cases, answers)

function readCases(path: string, limit: number): Case[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines.slice(0, limit).map((line) => JSON.parse(line))
}

async function askAll(v1: V1, cases: readonly Case[]): Promise<unknown[]> {
  const answers: unknown[] = new Array(cases.length)
  let next = 0
  const worker = async () => {
    for (let i = next++; i < cases.length; i = next++) answers[i] = await ask(v1, cases[i] as Case)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return answers
}

async function ask(v1: V1, { system, user, schema }: Case): Promise<unknown> {
  const body = {
    model: 'local-v1/nano',
    messages: [...(system ? [{ role: 'system', content: system }] : []), { role: 'user', content: user }],
    temperature: 0,
    max_tokens: 400,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  }
  const response = await v1.fetch(
    new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
  const answer = (await response.json()) as {
    choices?: [{ message: { content: string } }]
    error?: { message: string }
  }
  if (!answer.choices) return { error: answer.error?.message }
  try {
    return JSON.parse(answer.choices[0].message.content)
  } catch {
    return { broken: answer.choices[0].message.content }
  }
}

function report(cases: readonly Case[], answers: readonly unknown[]): void {
  const splits = new Tally()
  const kinds = new Tally()
  let whole = 0
  let shown = Number(options.show)
  cases.forEach((one, i) => {
    const got = (answers[i] ?? {}) as Record<string, unknown>
    const fields = Object.keys((one.schema.properties as Record<string, unknown>) ?? one.answer)
    const right = fields.map((field) => same(got[field], one.answer[field]))
    fields.forEach((field, at) => {
      splits.add(one.split, right[at] === true)
      kinds.add(one.kinds?.[field] ?? kindOf(one.answer[field]), right[at] === true)
    })
    if (right.every(Boolean)) whole++
    else if (shown-- > 0)
      console.log(`${one.user}\n  want ${JSON.stringify(one.answer)}\n  got  ${JSON.stringify(got).slice(0, 500)}\n`)
  })
  splits.print('split', BARS)
  kinds.print('kind')
  const seconds = (performance.now() - started) / 1000
  console.log(`\n${whole} of ${cases.length} answers wholly right; ${seconds.toFixed(1)} s`)
  const missed = splits.keys().filter((split) => splits.share(split) < (BARS[split] ?? 0))
  if (missed.length > 0) {
    console.log(`Below the bar: ${missed.join(', ')}`)
    process.exitCode = 1
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'absent'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Equal as JSON values; the order of keys does not count. */
function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]))
  if (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null) {
    const [x, y] = [a as Record<string, unknown>, b as Record<string, unknown>]
    return Object.keys(x).length === Object.keys(y).length && Object.keys(x).every((key) => same(x[key], y[key]))
  }
  return a === b
}
