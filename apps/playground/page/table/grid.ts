import { el } from '../dom.js'
import { likelihood } from '../format.js'
import type { FormField } from '../schema-fields.js'
import { surenessOf as stepOf } from '../sources.js'
import { type Row, type State, stateOf, surenessOf, textOf, valueIn } from './rows.js'

/** As the stylesheet has it. */
const ROW_PX = 45
/** Number and text, and each field: narrower, the table scrolls. */
const LEAST_PX = 244
const FIELD_PX = 104
/** Rows above and below what is seen, for who scrolls or tabs on. */
const BEYOND = 6

export interface Shown {
  /** In the order in which they stand. */
  readonly rows: readonly Row[]
  readonly fields: readonly FormField[]
  readonly request: string
  readonly writing: ReadonlySet<number>
  /** Whose details are open. */
  readonly open: number | undefined
}

/** The rows of a table, of which only those in sight are elements: thousands are as light as twenty. */
export class TableGrid {
  readonly element = el('div', { class: 'grid-scroll', role: 'region', 'aria-label': 'Table', tabindex: 0 })
  readonly #table = el('table', { class: 'grid' })
  readonly #body = el('tbody', {})
  readonly #above = spacer()
  readonly #below = spacer()
  readonly #views = new Map<number, RowView>()
  readonly #onOpen: (id: number, field: string | undefined) => void
  #shown: Shown = { rows: [], fields: [], request: '', writing: new Set(), open: undefined }
  #columns = ''

  constructor(onOpen: (id: number, field: string | undefined) => void) {
    this.#onOpen = onOpen
    this.element.append(this.#table)
    let scheduled = false
    this.element.addEventListener('scroll', () => {
      if (scheduled) return
      scheduled = true
      requestAnimationFrame(() => {
        scheduled = false
        this.#draw()
      })
    })
    new ResizeObserver(() => this.#draw()).observe(this.element)
  }

  show(shown: Shown): void {
    this.#shown = shown
    const columns = JSON.stringify(shown.fields.map(({ name }) => name))
    if (columns !== this.#columns) {
      this.#columns = columns
      for (const view of this.#views.values()) view.element.remove()
      this.#views.clear()
      const names = ['Row', 'Text', ...shown.fields.map(({ name }) => name)]
      const head = el('tr', {}, ...names.map((name) => el('th', { scope: 'col', title: name }, name)))
      this.#table.replaceChildren(el('thead', {}, head), this.#body)
      this.#body.replaceChildren(this.#above, this.#below)
      this.#table.style.minWidth = `${LEAST_PX + shown.fields.length * FIELD_PX}px`
    }
    this.#table.setAttribute('aria-rowcount', String(shown.rows.length + 1))
    this.#draw()
  }

  /** The row, if it is in sight. */
  focusOn(id: number): void {
    this.#views.get(id)?.element.querySelector<HTMLElement>('button')?.focus({ preventScroll: true })
  }

  #draw(): void {
    const { rows } = this.#shown
    const { scrollTop, clientHeight } = this.element
    const first = Math.max(0, Math.min(Math.floor(scrollTop / ROW_PX) - BEYOND, rows.length - 1))
    const last = Math.min(rows.length, first + Math.ceil(clientHeight / ROW_PX) + 2 * BEYOND)
    const seen = rows.slice(first, last)
    const ids = new Set(seen.map(({ id }) => id))
    for (const [id, view] of this.#views) {
      if (ids.has(id)) continue
      view.element.remove()
      this.#views.delete(id)
    }
    this.#above.style.height = `${first * ROW_PX}px`
    this.#below.style.height = `${Math.max(0, rows.length - last) * ROW_PX}px`
    let before: Element = this.#above
    for (const [i, row] of seen.entries()) {
      let view = this.#views.get(row.id)
      if (!view) {
        view = new RowView(row, this.#shown.fields, this.#onOpen)
        this.#views.set(row.id, view)
      }
      view.draw(row, this.#shown, first + i)
      // What stands in its place keeps its focus.
      if (before.nextElementSibling !== view.element) before.after(view.element)
      before = view.element
    }
  }
}

const STALE = ', from before the change'

const spacer = () => el('tr', { class: 'spacer', 'aria-hidden': 'true' })

class RowView {
  readonly element: HTMLElement
  readonly #text: HTMLButtonElement
  readonly #cells: { readonly field: FormField; readonly button: HTMLButtonElement }[]
  #drawn = ''

  constructor({ id }: Row, fields: readonly FormField[], onOpen: (id: number, field: string | undefined) => void) {
    const cellOf = (field: string | undefined) => {
      const button = el('button', { type: 'button', class: 'cell' })
      button.addEventListener('click', () => onOpen(id, field))
      return button
    }
    this.#cells = fields.map((field) => ({ field, button: cellOf(field.name) }))
    this.#text = cellOf(undefined)
    this.element = el(
      'tr',
      {},
      el('th', { scope: 'row' }, String(id + 1)),
      el('td', {}, this.#text),
      ...this.#cells.map(({ button }) => el('td', {}, button)),
    )
  }

  draw(row: Row, { request, writing, open }: Shown, place: number): void {
    const state = stateOf(row, request, writing)
    // Its place in the texts is all that a row is known by: another text may stand there now.
    const words = row.text.slice(0, 300)
    const drawn = JSON.stringify([place, state, words, row.json, row.edited, row.fault, open === row.id])
    if (drawn === this.#drawn) return
    this.#drawn = drawn
    this.element.className = `${state}${open === row.id ? ' open' : ''}`
    this.element.setAttribute('aria-rowindex', String(place + 2))
    if (this.#text.textContent !== words) this.#text.textContent = words
    for (const { field, button } of this.#cells) this.#drawCell(row, field, button, state)
  }

  #drawCell(row: Row, { name }: FormField, button: HTMLButtonElement, state: State): void {
    const value = state === 'waiting' || state === 'failed' ? undefined : valueIn(row, name)
    const sure = state === 'done' ? surenessOf(row, name) : undefined
    const isEdited = row.edited !== undefined && Object.hasOwn(row.edited, name)
    const words = state === 'failed' ? 'failed' : textOf(value)
    button.textContent = words
    button.className = `cell ${isEdited ? 'edited' : sure === undefined ? '' : stepOf(sure)}`
    const content = words === '' ? (state === 'done' ? 'empty' : 'not written yet') : words
    const how = isEdited
      ? ', by hand'
      : state === 'stale'
        ? STALE
        : sure === undefined
          ? ''
          : `, ${likelihood(sure)} sure`
    button.title = how.slice(2)
    button.setAttribute('aria-label', `${name} of row ${row.id + 1}: ${content}${how}`)
  }
}
