import { el, framed } from './dom.js'
import { jsonTokens } from './json-tokens.js'
import type { SchemaFault } from './schema-fault.js'
import { syntaxFault } from './schema-fault.js'

/** Of a longer text the words have no colours: it is no schema, and to colour a megabyte takes half a minute. */
const MOST_COLOURED = 50_000

/** A text area over a coloured copy of its text, whose lines are numbered, and a place for errors. */
export class SchemaEditor {
  readonly element: HTMLElement
  readonly #area: HTMLTextAreaElement
  readonly #colours = el('pre', { class: 'editor-colours', 'aria-hidden': 'true', translate: 'no' })
  readonly #error = el('p', { class: 'field-error', id: 'schema-error', role: 'alert', hidden: true })
  readonly #scroller = el('div', { class: 'editor' })
  #fault: SchemaFault | undefined

  constructor(labelId: string, onInput: () => void) {
    this.#area = el('textarea', {
      class: 'editor-area',
      id: 'schema',
      spellcheck: 'false',
      autocapitalize: 'off',
      autocomplete: 'off',
      'aria-labelledby': labelId,
      'aria-describedby': 'schema-error',
    })
    // What is pasted or dictated may come line by line: it is not drawn for each.
    const drawSoon = framed(() => this.#draw())
    this.#area.addEventListener('input', () => {
      this.#tell(syntaxFault(this.text))
      drawSoon()
      onInput()
    })
    this.#scroller.append(this.#colours, this.#area)
    this.element = el('div', { class: 'schema-field' }, this.#error, this.#scroller)
  }

  get text(): string {
    return this.#area.value
  }

  set text(value: string) {
    // The first text stands at its top by itself, and to say so has the half-made page laid out.
    if (this.#area.value !== '') this.#scroller.scrollTo({ top: 0 })
    this.#area.value = value
    this.show(syntaxFault(value))
  }

  get fault(): SchemaFault | undefined {
    return this.#fault
  }

  /** Takes the user to what is wrong. */
  focus(): void {
    this.#area.focus({ preventScroll: true })
    const row = this.#colours.querySelector<HTMLElement>('.editor-row.wrong')
    const box = this.#scroller
    if (row) box.scrollTo({ top: row.offsetTop - box.clientHeight / 2 })
    box.scrollIntoView({ block: 'nearest' })
  }

  /** Shows what is wrong at its line, or that nothing is. */
  show(fault: SchemaFault | undefined): void {
    this.#tell(fault)
    this.#draw()
  }

  #tell(fault: SchemaFault | undefined): void {
    this.#fault = fault
    this.#area.setAttribute('aria-invalid', String(fault !== undefined))
    const where = fault?.line === undefined ? '' : `Line ${fault.line}: `
    this.#error.hidden = fault === undefined
    this.#error.textContent = fault ? where + fault.message : ''
  }

  #draw(): void {
    const text = this.text
    const wrong = this.#fault?.line
    const rows = el('span', { class: 'editor-rows' })
    let row = newRow(wrong === 1)
    let count = 1
    rows.append(row)
    const tokens = text.length > MOST_COLOURED ? [{ kind: 'space', text } as const] : jsonTokens(text)
    for (const token of tokens) {
      token.text.split('\n').forEach((part, i) => {
        if (i > 0) {
          count++
          row = newRow(wrong === count)
          rows.append(row)
        }
        if (part !== '') row.append(token.kind === 'space' ? part : el('span', { class: `json-${token.kind}` }, part))
      })
    }
    this.#colours.replaceChildren(rows)
  }
}

const newRow = (wrong: boolean) => el('span', { class: wrong ? 'editor-row wrong' : 'editor-row' })
