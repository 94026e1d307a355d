import type { PartialJson } from '../../../src/grammar/partial-json.js'
import { breakable, el } from './dom.js'

/** What of a schema says which fields an answer will have. */
interface FieldSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly items?: FieldSchema
  readonly enum?: readonly unknown[]
  readonly description?: string
}

/** The document as a form that fills in: a row for each field of the schema, whether it has come yet or not. */
export function fieldsView(schema: unknown, value: PartialJson | undefined, busy: boolean): HTMLElement {
  const known = (typeof schema === 'object' && schema !== null ? schema : {}) as FieldSchema
  if (value && value.kind !== 'object') return el('div', { class: 'fields' }, valueNode(known, value, busy))
  return objectOf(known, value, busy)
}

function objectOf(
  schema: FieldSchema,
  value: (PartialJson & { kind: 'object' }) | undefined,
  busy: boolean,
): HTMLElement {
  const written = new Map(value?.entries ?? [])
  const names = [
    ...Object.keys(schema.properties ?? {}),
    ...[...written.keys()].filter((name) => !schema.properties?.[name]),
  ]
  const next = busy && !value?.done ? names.find((name) => !written.has(name)) : undefined
  const open = [...written.values()].some(({ done }) => !done)
  const list = el('dl', { class: 'fields' })
  for (const name of names) {
    const field = schema.properties?.[name] ?? {}
    const given = written.get(name)
    const shown = given ? valueNode(field, given, busy) : placeholder(busy && !open && name === next)
    const state = given ? (given.done ? 'done' : 'writing') : 'waiting'
    list.append(el('div', { class: `field ${state}` }, el('dt', {}, ...breakable(name)), el('dd', {}, shown)))
  }
  return list
}

function valueNode(schema: FieldSchema, value: PartialJson, busy: boolean): Node {
  if (value.kind === 'object') return objectOf(schema, value, busy)
  if (value.kind === 'array') {
    const items = value.items.map((item) => el('li', {}, valueNode(schema.items ?? {}, item, busy)))
    if (value.done && items.length === 0) return el('span', { class: 'value none' }, 'empty list')
    const more = busy && !value.done && value.items.every(({ done }) => done) ? el('li', {}, caret()) : undefined
    const simple = value.items.every(({ kind }) => kind !== 'object' && kind !== 'array')
    return el('ul', { class: simple ? 'items chips' : 'items' }, ...items, more)
  }
  const writing = busy && !value.done
  const kind = value.kind === 'string' && schema.enum ? 'choice' : value.kind
  const text = value.kind === 'null' ? 'none' : value.text
  const empty = value.kind === 'string' && value.done && text === ''
  return el('span', { class: `value ${empty ? 'none' : kind}` }, empty ? 'empty' : text, writing ? caret() : undefined)
}

const caret = () => el('span', { class: 'caret', 'aria-hidden': 'true' })

const placeholder = (next: boolean) =>
  el(
    'span',
    { class: next ? 'placeholder next' : 'placeholder' },
    el('span', { class: 'visually-hidden' }, 'not written yet'),
  )
