import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { text as readAll } from 'node:stream/consumers'
import { valueAt } from '../../adapters/client/pointer.js'
import { extract as ask, type ValueEvidence } from '../../adapters/extract.js'
import { isRecord, type JsonObject } from '../platform/index.js'
import type { V1 } from '../service/index.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { readJsonFile } from './json-file.js'
import { OwnV1 } from './load.js'
import { note } from './terminal.js'

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

/** What files, or standard input, say of a schema or of typed fields. */
export async function extractCommand(
  form: string,
  files: readonly string[],
  options: ExtractCommandOptions,
): Promise<void> {
  const wanted = await readJsonFile('schema', form)
  if (!isRecord(wanted)) throw new Fault(`The schema file ${form} must contain a JSON Schema, or fields by name.`)
  const fields = fieldsIn(wanted)
  const { instructions, quote, referenceDate, locale, json } = options
  if (!fields && (referenceDate ?? locale) !== undefined) {
    throw new Fault('--reference-date and --locale only work with fields, not with a schema.')
  }
  if (fields && instructions !== undefined) {
    throw new Fault('--instructions only works with a schema: each field has its own instructions.')
  }
  if (fields && quote) throw new Fault('--quote only works with a schema: fields are always read from the text.')
  const texts: string[] = []
  for (const file of files.length > 0 ? files : ['-']) texts.push(await textOf(file))
  const own = await OwnV1.open(options, true)
  const { v1, model } = own
  const read = (text: string) => (fields ? fieldsRead : documentRead)(v1, { model, text, fields, wanted, options })
  try {
    const first = read(texts[0]!)
    await own.loadFor(first)
    if (texts.length === 1) {
      const { whole, shown } = await first
      process.stdout.write(json ? `${JSON.stringify(whole, null, 2)}\n` : shown())
    } else await eachRead(files, (i) => (i === 0 ? first : read(texts[i]!)))
  } finally {
    await v1.close()
  }
}

interface Read {
  readonly whole: object
  /** For a person. */
  shown(): string
}

interface ExtractInput {
  readonly model: string
  readonly text: string
  readonly fields: JsonObject | undefined
  readonly wanted: JsonObject
  readonly options: ExtractCommandOptions
}

async function fieldsRead(v1: V1, { model, text, fields, options }: ExtractInput): Promise<Read> {
  const { referenceDate, locale } = options
  const whole = await fieldsOf(v1, { model, state: text, fields, reference_date: referenceDate, locale })
  return { whole, shown: () => table(Object.entries(whole).map(([name, answer]) => rowOf(name, answer, text))) }
}

async function documentRead(v1: V1, { model, text, wanted, options }: ExtractInput): Promise<Read> {
  const { instructions, evidence, quote } = options
  const settings = { from: v1, model, ...(instructions !== undefined && { instructions }), ...(quote && { quote }) }
  if (!evidence) {
    const whole = (await ask(wanted, text, settings)) as object
    return { whole, shown: () => `${JSON.stringify(whole, null, 2)}\n` }
  }
  const whole = await ask(wanted, text, { ...settings, evidence: true })
  return { whole, shown: () => table(rowsOf(whole, text)) }
}

/** As many as one device answers side by side. */
const AT_ONCE = 4

/** A line for each, in their order; one that cannot be read keeps none of the others from it. */
async function eachRead(files: readonly string[], read: (i: number) => Promise<Read>): Promise<void> {
  const lines = new Map<number, string>()
  let next = 0
  let printed = 0
  let failed = 0
  const one = async (i: number): Promise<string> => {
    try {
      return `${JSON.stringify({ file: files[i], ...(await read(i)).whole })}\n`
    } catch (error) {
      failed++
      note(`${files[i]}: ${error instanceof Error ? error.message : String(error)}`)
      return ''
    }
  }
  const work = async () => {
    for (let i = next++; i < files.length; i = next++) {
      lines.set(i, await one(i))
      for (let line = lines.get(printed); line !== undefined; line = lines.get(printed)) {
        process.stdout.write(line)
        lines.delete(printed++)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  if (failed > 0) throw new Fault(`${failed} of ${files.length} texts could not be read.`, 1)
}

/** The fields of a file of fields: by name, or as a request has them. */
function fieldsIn(wanted: JsonObject): JsonObject | undefined {
  const fields = isRecord(wanted.fields) ? wanted.fields : wanted
  const all = Object.values(fields)
  const isField = (one: unknown) => isRecord(one) && typeof one.type === 'string' && FIELD_TYPES.has(one.type)
  return all.length > 0 && all.every(isField) ? fields : undefined
}

async function textOf(file: string): Promise<string> {
  if (file !== '-') {
    return await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new Fault(`The text ${file} cannot be read: ${(cause as Error).message}`)
    })
  }
  if (process.stdin.isTTY) {
    throw new Fault('Name a file with the text, or send it on standard input: local-v1 extract schema.json < mail.txt')
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
  /** Of a list's items. */
  readonly spans?: readonly (readonly [number, number] | null)[]
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
  if (!answers) throw new Fault(error?.message ?? `The server answered with status ${response.status}.`, 1)
  return answers
}

type Row = readonly [name: string, value: string, sure: string, more: string]

/** The values in the order of the document. */
function rowsOf({ value, evidence }: { readonly value: unknown; readonly evidence: object }, text: string): Row[] {
  return Object.entries(evidence as Readonly<Record<string, ValueEvidence>>).map(([pointer, entry]) => {
    const { confidence, runnerUp, pNull, source } = entry
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
  const { type, value = null, guess, confidence, p_null: none, span, spans = span ? [span] : [] } = answer
  const places = spans.flatMap((each) => (each ? [placed(text, ...each)] : []))
  // The model took a stretch of the text that does not say what was asked.
  const unread = value === null && guess === undefined && places.length > 0
  const more = [
    ...(unread ? [`no ${type} in ${places[0]}`] : places),
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
