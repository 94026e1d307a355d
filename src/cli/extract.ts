import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { text as readAll } from 'node:stream/consumers'
import { valueAt } from '../../adapters/client/pointer.js'
import { extract as ask, type ValueEvidence } from '../../adapters/extract.js'
import { isRecord, type JsonObject } from '../platform/json.js'
import { createV1, type V1 } from '../v1.js'
import { type EngineOptions, openEngine } from './engine.js'
import { Fault } from './fault.js'
import { readJsonFile } from './json-file.js'
import { load } from './load.js'

export interface ExtractCommandOptions extends EngineOptions {
  readonly instructions?: string
  readonly evidence?: boolean
  readonly quote?: boolean
  readonly referenceDate?: string
  readonly locale?: string
  readonly json?: boolean
}

/** Of an extraction's fields; a JSON Schema has no `type` of these in all that stands in it. */
const FIELD_TYPES = new Set(['text', 'number', 'date', 'time', 'datetime', 'duration', 'list', 'estimate', 'forecast'])

/** What a file, or standard input, says of a schema or of typed fields. */
export async function extract(form: string, file: string | undefined, options: ExtractCommandOptions): Promise<void> {
  const wanted = await readJsonFile('schema', form)
  if (!isRecord(wanted)) throw new Fault(`The schema file ${form} must hold a JSON Schema, or fields by name.`)
  const fields = fieldsIn(wanted)
  const { instructions, evidence, quote, referenceDate, locale, json } = options
  if (!fields && (referenceDate ?? locale) !== undefined) {
    throw new Fault('--reference-date and --locale are for fields; a schema has no dates to tell from them.')
  }
  if (fields && instructions !== undefined) {
    throw new Fault('--instructions is for a schema: each field has instructions of its own.')
  }
  if (fields && quote) throw new Fault('--quote is for a schema: fields are read from their place in the text.')
  const text = await textOf(file)
  const { engine, models } = await openEngine(options)
  const v1 = createV1({ engine, keys: 'none' })
  const model = models[0]!
  const print = (whole: unknown, shown: () => string) =>
    process.stdout.write(json ? `${JSON.stringify(whole, null, 2)}\n` : shown())
  try {
    await load(v1, model)
    if (fields) {
      const answers = await fieldsOf(v1, { model, state: text, fields, reference_date: referenceDate, locale })
      print(answers, () => table(Object.entries(answers).map(([name, answer]) => rowOf(name, answer, text))))
      return
    }
    const asked = { from: v1, model, ...(instructions !== undefined && { instructions }), ...(quote && { quote }) }
    if (!evidence) {
      const document = await ask(wanted, text, asked)
      print(document, () => `${JSON.stringify(document, null, 2)}\n`)
      return
    }
    const grounded = await ask(wanted, text, { ...asked, evidence: true })
    print(grounded, () => table(rowsOf(grounded, text)))
  } finally {
    await v1.close()
  }
}

/** The fields of a file of fields: by name, or as a request has them. */
function fieldsIn(wanted: JsonObject): JsonObject | undefined {
  const fields = isRecord(wanted.fields) ? wanted.fields : wanted
  const all = Object.values(fields)
  const isField = (one: unknown) => isRecord(one) && typeof one.type === 'string' && FIELD_TYPES.has(one.type)
  return all.length > 0 && all.every(isField) ? fields : undefined
}

async function textOf(file: string | undefined): Promise<string> {
  if (file !== undefined && file !== '-') {
    return await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new Fault(`The text ${file} cannot be read: ${(cause as Error).message}`)
    })
  }
  if (process.stdin.isTTY) {
    throw new Fault('The text is a file, or comes on standard input: local-v1 extract schema.json < mail.txt')
  }
  return await readAll(process.stdin)
}

interface FieldRow {
  readonly type: string
  readonly value?: unknown
  readonly guess?: unknown
  readonly confidence?: number
  readonly p_null?: number
  readonly span?: readonly [number, number]
}

async function fieldsOf(v1: V1, body: object): Promise<Readonly<Record<string, FieldRow>>> {
  const request = new Request(`http://localhost${v1.basePath}/extractions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const response = await v1.fetch(request)
  const { answers, error } = (await response.json()) as {
    answers?: Readonly<Record<string, FieldRow>>
    error?: { message: string }
  }
  if (!answers) throw new Fault(error?.message ?? `The answer was ${response.status}.`, 1)
  return answers
}

type Row = readonly [name: string, value: string, sure: string, more: string]

/** The values in the order of the document. */
function rowsOf({ value, evidence }: { readonly value: unknown; readonly evidence: object }, text: string): Row[] {
  return Object.entries(evidence as Readonly<Record<string, ValueEvidence>>).map(([pointer, told]) => {
    const { confidence, runnerUp, pNull, source } = told
    const more = [
      ...(source ? [placed(text, source.start, source.end)] : []),
      ...(runnerUp ? [`else ${JSON.stringify(runnerUp.value)} ${percent(runnerUp.probability)}`] : []),
      ...(pNull === undefined ? [] : [`none ${percent(pNull)}`]),
    ]
    return [pointer || 'value', JSON.stringify(valueAt(value, pointer)), percent(confidence), more.join(', ')]
  })
}

function rowOf(name: string, answer: FieldRow, text: string): Row {
  if (answer.type === 'refusal') return [name, 'refused', '', '']
  const { value = null, guess, confidence, p_null: none, span } = answer
  const more = [
    ...(span ? [placed(text, ...span)] : []),
    ...(value === null && guess !== undefined ? [`perhaps ${JSON.stringify(guess)}`] : []),
    ...(none === undefined ? [] : [`none ${percent(none)}`]),
  ]
  return [name, JSON.stringify(value), confidence === undefined ? '' : percent(confidence), more.join(', ')]
}

const placed = (text: string, start: number, end: number): string =>
  `${JSON.stringify(text.slice(start, end))} at ${start}`

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

function table(rows: readonly Row[]): string {
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]!.length)))
  return rows
    .map(([name, value, sure, more]) =>
      `${name.padEnd(widths[0]!)}  ${value.padEnd(widths[1]!)}  ${sure.padStart(widths[2]!)}  ${more}`.trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}
