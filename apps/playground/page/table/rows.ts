/** What a table holds: texts, and the document that was made of each. */
import { readPartial } from '../../../../src/grammar/partial-json.js'
import type { Evidence } from '../api.js'
import { type FormField, schemaOf } from '../schema-fields.js'

export interface Row {
  readonly id: number
  readonly text: string
  /** The file that it is from. */
  readonly from?: string
  /** As the model wrote it, as far as it has come. */
  json?: string
  /** What it was asked for: an answer to something else is none. */
  asked?: string
  evidence?: Readonly<Record<string, Evidence>>
  /** By hand, by the field's name: these stand before what the model wrote. */
  edited?: Readonly<Record<string, unknown>>
  fault?: string
}

/** What is wanted of each text. */
export interface Wanted {
  readonly sentence: string
  readonly fields: readonly FormField[]
}

/** `stale`: an answer to what is asked no more. */
export type State = 'waiting' | 'writing' | 'done' | 'failed' | 'stale'

/** Two requests for the same have the same name. */
export const askedOf = ({ sentence, fields }: Wanted): string => JSON.stringify([sentence.trim(), schemaOf(fields)])

export function stateOf(row: Row, request: string, writing: ReadonlySet<number>): State {
  if (writing.has(row.id)) return 'writing'
  if (row.asked !== request) return row.asked && row.fault === undefined ? 'stale' : 'waiting'
  return row.fault === undefined ? 'done' : 'failed'
}

/** The value of a field; undefined where there is none yet. */
export function valueIn(row: Row, name: string): unknown {
  if (row.edited && Object.hasOwn(row.edited, name)) return row.edited[name]
  return Object.getOwnPropertyDescriptor(documentOf(row), name)?.value
}

const documents = new WeakMap<Row, { json: string; document: Readonly<Record<string, unknown>> }>()

/** What is written of a document that is not whole yet counts too. */
function documentOf(row: Row): Readonly<Record<string, unknown>> {
  const { json = '' } = row
  const known = documents.get(row)
  if (known?.json === json) return known.document
  const document = (plainOf(readPartial(json)) ?? {}) as Readonly<Record<string, unknown>>
  documents.set(row, { json, document })
  return document
}

function plainOf(value: ReturnType<typeof readPartial>): unknown {
  if (!value) return undefined
  if (value.kind === 'object') return Object.fromEntries(value.entries.map(([key, each]) => [key, plainOf(each)]))
  if (value.kind === 'array') return value.items.map(plainOf)
  if (value.kind === 'null') return null
  if (value.kind === 'string') return value.text
  if (!value.done) return undefined
  return value.kind === 'number' ? Number(value.text) : value.text === 'true'
}

export const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** How sure a field is: of a list, its least sure item. What a person wrote is sure; undefined where nothing is known. */
export function surenessOf(row: Row, name: string): number | undefined {
  if (row.edited && Object.hasOwn(row.edited, name)) return 1
  const own = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const entries = Object.entries(row.evidence ?? {}).filter(([at]) => at === own || at.startsWith(`${own}/`))
  return entries.length === 0 ? undefined : Math.min(...entries.map(([, { confidence }]) => confidence))
}

const least = new WeakMap<Row, { readonly of: readonly unknown[]; readonly sure: number | undefined }>()

/** Of the whole row: of its least sure field. It is asked for of every row as each is filled, and so it is noted. */
export function leastSure(row: Row, fields: readonly FormField[]): number | undefined {
  const of = [row.evidence, row.edited, row.json, fields.map(({ name }) => name).join('\n')]
  const known = least.get(row)
  if (known?.of.every((each, i) => each === of[i])) return known.sure
  const sure = leastOf(row, fields)
  least.set(row, { of, sure })
  return sure
}

function leastOf(row: Row, fields: readonly FormField[]): number | undefined {
  const all = fields.flatMap(({ name }) => surenessOf(row, name) ?? [])
  return all.length === 0 ? undefined : Math.min(...all)
}

/** What a person wrote, as far as there are fields for it. */
export function editsFor(fields: readonly FormField[], { edited = {} }: Row): Row['edited'] {
  const entries = fields.flatMap((field): [string, unknown][] => {
    const value = Object.hasOwn(edited, field.name) ? readByHand(field, textOf(edited[field.name])) : undefined
    return value === undefined ? [] : [[field.name, value]]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** What somebody wrote into a cell, as the field's kind has it; undefined where it is none of that kind. */
export function readByHand({ kind, options }: FormField, written: string): unknown {
  const text = written.trim()
  if (kind === 'text' || kind === 'date') return text
  if (kind === 'texts') return text === '' ? [] : text.split(/\s*,\s*/)
  if (kind === 'boolean') {
    if (/^(yes|true|y|1)$/i.test(text)) return true
    return /^(no|false|n|0)$/i.test(text) ? false : undefined
  }
  if (kind === 'choice') {
    const known = options.split(',').map((option) => option.trim())
    return known.find((option) => option.toLowerCase() === text.toLowerCase())
  }
  const number = text === '' ? Number.NaN : Number(text)
  return Number.isFinite(number) && (kind !== 'integer' || Number.isInteger(number)) ? number : undefined
}
