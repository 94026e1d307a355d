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

/** What an answer says of a query: a value, or for lists `[{ at, value }]`. */
function meantBy(query, found, letters) {
  if (query.options) return found.option === null ? null : query.options[query.list ? 0 : found.option]
  const said = found.spans.map(([start, end]) => letters.slice(start, end).join(''))
  const values = said.map((text) => readAs(query.type, text))
  if (query.list)
    return found.spans.map(([at], i) => ({ at, value: values[i] })).filter(({ value }) => value !== undefined)
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

/** Rows of a list of records: the fullest column says how many, each value of another joins the nearest. */
function rowsOf(columns) {
  const spread = columns.filter((c) => Array.isArray(c.value))
  const anchor = spread.reduce((best, c) => (c.value.length > (best?.value.length ?? 0) ? c : best), undefined)
  if (!anchor) return []
  const rows = anchor.value.map(() => ({}))
  for (const column of columns) {
    const inside = column.path.slice(column.path.indexOf('[]') + 1)
    const values = Array.isArray(column.value) ? column.value : rows.map(() => ({ value: column.value }))
    const whole = values.length === rows.length
    rows.forEach((row, i) => {
      const near = whole ? values[i] : values.find((v) => nearest(anchor.value, v.at) === i)
      put(row, inside, near?.value ?? null)
    })
  }
  return rows
}

const nearest = (anchors, at) =>
  anchors.reduce((best, a, i) => (Math.abs(a.at - at) < Math.abs(anchors[best].at - at) ? i : best), 0)

function answer({ text, schema }, pointed) {
  const letters = [...text]
  const made = {}
  const records = new Map()
  queriesOf(schema).forEach((query, i) => {
    const value = meantBy(query, pointed[i], letters)
    const at = query.path.indexOf('[]')
    if (at < 0) put(made, query.path, value)
    else if (at === query.path.length - 1)
      put(made, query.path.slice(0, -1), Array.isArray(value) ? value.map((v) => v.value) : [])
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
