/**
 * From cases to the encoder's queries, and from what it points at to answers:
 *
 *     tsx fill.js ask cases.jsonl > asked.jsonl
 *     tsx fill.js decisions > cases.jsonl                                the questions of ../eval/decisions.txt as cases
 *     tsx fill.js answer asked.jsonl pointed.jsonl > answers.jsonl       (pointed: by evaluate_encoder.py)
 */
import { readFileSync } from 'node:fs'
import { readDecisions } from '../../../scripts/decisions.ts'
import { askedAs, optionAs, queriesOf, read } from './spans.js'

const lines = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

function asked({ user, schema }) {
  const queries = queriesOf(schema).map((query) => ({
    ask: askedAs(query),
    list: query.list === true,
    nullable: query.nullable === true,
    ...(query.options ? { options: query.options.map(optionAs) } : {}),
  }))
  return { text: user, schema, queries }
}

/** What an answer says of a query: a value, or for lists `[{ at, value, sure }]`, where above 0 it is an item. */
function meantBy(query, found, letters) {
  if (query.options) return found.option === null ? null : query.options[query.list ? 0 : found.option]
  const said = found.spans.map(([start, end]) => letters.slice(start, end).join(''))
  const values = said.map((text) => readAs(query.type, text))
  if (query.list)
    return found.spans.map(([at, , sure], i) => ({ at, value: values[i], sure })).filter((v) => v.value !== undefined)
  const value = values.find((v) => v !== undefined)
  if (value !== undefined) return value
  return query.nullable ? null : query.type === 'integer' || query.type === 'number' ? 0 : (said[0] ?? '')
}

function readAs(type, text) {
  const value = read(type, text)
  return type === 'integer' && value !== undefined && !Number.isInteger(value) ? undefined : value
}

function put(into, path, value) {
  const [name, ...rest] = path
  if (rest.length === 0) into[name] = value
  else {
    into[name] ??= {}
    put(into[name], rest, value)
  }
}

const itemsOf = (found) => found.filter(({ sure }) => sure > 0)

/** Below this a cell is empty: surer than an item must be, for the row is there and only its stretch is asked. */
const EMPTY = -4

/**
 * Rows of a list of records: the column with the most items says how many there are and where each stands. Another's cells
 * are the surest stretches between one row and the next, all behind their rows' places or all before them.
 */
function rowsOf(columns) {
  const spread = columns.filter((c) => Array.isArray(c.value))
  const sureness = (c) => itemsOf(c.value).length + itemsOf(c.value).reduce((sum, { sure }) => sum + sure, 0) / 1000
  const anchor = spread.reduce((best, c) => (best && sureness(best) >= sureness(c) ? best : c), undefined)
  const places = anchor ? itemsOf(anchor.value).map(({ at }) => at) : []
  const rows = places.map(() => ({}))
  for (const column of columns) {
    const inside = column.path.slice(column.path.indexOf('[]') + 1)
    const cells =
      column === anchor
        ? itemsOf(anchor.value)
        : spread.includes(column)
          ? cellsOf(column.value, places)
          : rows.map(() => column)
    // A list in a record gets the one item that a cell has.
    const listed = inside.at(-1) === '[]'
    rows.forEach((row, i) => {
      const value = cells[i]?.value
      if (listed) put(row, inside.slice(0, -1), value === undefined ? [] : [value])
      else put(row, inside, value ?? null)
    })
  }
  return rows
}

function cellsOf(found, places) {
  const within = (low, high) =>
    found
      .filter(({ at, sure }) => at >= low && at < high && sure > EMPTY)
      .reduce((best, v) => (best && best.sure >= v.sure ? best : v), undefined)
  const behind = places.map((at, i) => within(at, places[i + 1] ?? Infinity))
  const before = places.map((at, i) => within(places[i - 1] ?? 0, at))
  const sum = (cells) => cells.reduce((all, cell) => all + (cell?.sure ?? EMPTY), 0)
  return sum(behind) >= sum(before) ? behind : before
}

function answer({ text, schema }, pointed) {
  const letters = [...text]
  const made = {}
  const records = new Map()
  queriesOf(schema).forEach((query, i) => {
    const value = meantBy(query, pointed[i], letters)
    const at = query.path.indexOf('[]')
    if (at < 0) put(made, query.path, value)
    else if (at === query.path.length - 1)
      put(made, query.path.slice(0, -1), Array.isArray(value) ? itemsOf(value).map((v) => v.value) : [])
    else {
      const key = query.path.slice(0, at).join('\n')
      records.set(key, [...(records.get(key) ?? []), { path: query.path, value }])
      put(made, query.path.slice(0, at), [])
    }
  })
  for (const [key, columns] of records) put(made, key.split('\n'), rowsOf(columns))
  return made
}

/** Of each question a case for check-nano: one field, the choices its enum, the question its description. */
function decisions() {
  const source = readFileSync(new URL('../eval/decisions.txt', import.meta.url), 'utf8')
  return readDecisions(source).map(({ text, kind, question, choices, right }) => ({
    split: kind,
    system: '',
    user: text,
    schema: {
      type: 'object',
      properties: { answer: { enum: choices, description: question } },
      required: ['answer'],
      additionalProperties: false,
    },
    answer: { answer: right },
  }))
}

const [what, path, other] = process.argv.slice(2)
const cases = what === 'decisions' ? decisions() : lines(path)
const pointed = other ? lines(other) : []
const made = (one, i) => (what === 'ask' ? asked(one) : what === 'answer' ? answer(one, pointed[i]) : one)
for (const [i, one] of cases.entries()) console.log(JSON.stringify(made(one, i)))
