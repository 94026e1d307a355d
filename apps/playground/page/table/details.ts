import type { Evidence } from '../api.js'
import { button, el } from '../dom.js'
import { likelihood } from '../format.js'
import type { FormField } from '../schema-fields.js'
import { surenessOf as stepOf, stretchesOf } from '../sources.js'
import { type Row, readByHand, surenessOf, textOf, valueIn } from './rows.js'

/** In a request, the text stands behind what is wanted of it. */
const MESSAGE = 1

export interface DetailWays {
  /** The row was changed by hand. */
  onEdit(row: Row): void
  /** To the next one that is doubtful. */
  onNext(row: Row): void
  onClose(): void
}

/** One row: its text with the place of each value, and the values, which can be changed. */
export class Details {
  readonly element = el('section', { class: 'panel details', 'aria-labelledby': 'details-title', hidden: true })
  readonly #ways: DetailWays
  #row: Row | undefined

  constructor(ways: DetailWays) {
    this.#ways = ways
  }

  get row(): number | undefined {
    return this.#row?.id
  }

  close(): void {
    this.#row = undefined
    this.element.hidden = true
    this.element.replaceChildren()
  }

  show(row: Row, fields: readonly FormField[], field: string | undefined): void {
    this.#row = row
    this.element.hidden = false
    const places = el('p', { class: 'sources-text' }, ...this.#places(row, fields))
    const values = fields.map((each, i) => this.#value(row, each, `detail-${i}`, places))
    this.element.replaceChildren(
      el(
        'div',
        { class: 'panel-head' },
        el('h2', { id: 'details-title' }, `Row ${row.id + 1}${row.from === undefined ? '' : `, ${row.from}`}`),
        button('Next doubtful', () => this.#ways.onNext(row), { class: 'small' }),
        button('Close', () => this.#ways.onClose(), { class: 'quiet small' }),
      ),
      ...(row.fault === undefined ? [] : [el('p', { class: 'answer-error' }, row.fault)]),
      el('div', { class: 'details-columns' }, places, el('div', { class: 'details-values' }, ...values)),
    )
    const at = fields.findIndex(({ name }) => name === field)
    this.element.querySelector<HTMLElement>(`#detail-${Math.max(0, at)}`)?.focus({ preventScroll: true })
    this.element.scrollIntoView({ block: 'nearest' })
  }

  #places(row: Row, fields: readonly FormField[]): (Node | string)[] {
    const evidence = new Map<string, Evidence>(Object.entries(row.evidence ?? {}))
    return stretchesOf(row.text, MESSAGE, evidence).map(({ text, pointers }) => {
      if (pointers.length === 0) return text
      const least = Math.min(...pointers.map((pointer) => evidence.get(pointer)!.confidence))
      const names = [...new Set(pointers.map(fieldIn))].filter((name) => fields.some((field) => field.name === name))
      const mark = el('mark', { class: `place ${stepOf(least)}`, title: names.join(', ') }, text)
      mark.dataset.fields = JSON.stringify(names)
      return mark
    })
  }

  #value(row: Row, field: FormField, id: string, places: HTMLElement): HTMLElement {
    const { name } = field
    const input = inputFor(field, textOf(valueIn(row, name)))
    input.id = id
    const sure = el('span', { class: 'detail-sure' })
    const fault = el('p', { class: 'field-error', role: 'alert', hidden: true })
    const back = () => {
      const { [name]: _, ...others } = row.edited ?? {}
      row.edited = Object.keys(others).length === 0 ? undefined : others
      input.value = textOf(valueIn(row, name))
      fault.hidden = true
      draw()
      input.focus()
      this.#ways.onEdit(row)
    }
    const undo = button('Undo', back, { class: 'quiet small', 'aria-label': `Undo the change of ${name}` })
    const draw = () => {
      const isEdited = row.edited !== undefined && Object.hasOwn(row.edited, name)
      const share = surenessOf(row, name)
      const words = isEdited ? 'by hand' : share === undefined ? '' : `${likelihood(share)} sure`
      sure.replaceChildren(words, ...(isEdited ? [undo] : []))
      sure.className = `detail-sure ${isEdited ? 'edited' : share === undefined ? '' : stepOf(share)}`
    }
    input.addEventListener('change', () => {
      const value = readByHand(field, input.value)
      fault.hidden = value !== undefined
      fault.textContent = value === undefined ? `Write ${WANTED[field.kind]}.` : ''
      if (value === undefined) return
      row.edited = { ...row.edited, [name]: value }
      draw()
      this.#ways.onEdit(row)
    })
    const light = (lit: boolean) => () => {
      for (const mark of places.querySelectorAll('mark')) {
        const names = JSON.parse(mark.dataset.fields ?? '[]') as string[]
        mark.classList.toggle('lit', lit && names.includes(name))
      }
    }
    input.addEventListener('focus', light(true))
    input.addEventListener('blur', light(false))
    draw()
    return el('div', { class: 'detail' }, el('label', { for: id }, name), input, sure, fault)
  }
}

const WANTED = {
  text: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'yes or no',
  date: 'a date',
  choice: 'one of the choices',
  texts: 'texts with commas between',
  integers: 'whole numbers with commas between',
  numbers: 'numbers with commas between',
  dates: 'dates with commas between',
  group: 'JSON',
  groups: 'JSON',
} as const

type Input = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

function inputFor({ kind, options }: FormField, value: string): Input {
  if (kind !== 'choice' && kind !== 'boolean') {
    // Texts may be long: theirs grows.
    const isText = kind === 'text' || kind === 'texts'
    const input = isText ? el('textarea', { rows: 1 }) : el('input', { autocomplete: 'off', spellcheck: 'false' })
    input.value = value
    return input
  }
  const known = kind === 'boolean' ? ['yes', 'no'] : options.split(',').map((option) => option.trim())
  const all = known.includes(value) ? known : [value, ...known]
  const select = el('select', {}, ...all.map((option) => el('option', { value: option }, option)))
  select.value = value
  return select
}

const fieldIn = (pointer: string): string => (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
