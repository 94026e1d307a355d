import { button, el } from './dom.js'
import { type FormField, isGroup, KINDS, type Kind, schemaOf } from './schema-fields.js'

/** How deep groups may stand in each other: further in, there is no room for a name. */
const DEEPEST = 4
/** What a cell of a table can hold. */
const OF_COLUMNS: readonly Kind[] = ['text', 'integer', 'number', 'boolean', 'date', 'choice', 'texts']

/** Rows of name and kind, and below a group its own; `onChange` hears of every change. */
export class SchemaForm {
  readonly element = el('div', { class: 'schema-form' })
  readonly #onChange: (schema: object) => void
  readonly #what: 'field' | 'column'
  #fields: FormField[] = []

  /** `what`: what its rows are called. */
  constructor(onChange: (schema: object) => void, what: 'field' | 'column' = 'field') {
    this.#onChange = onChange
    this.#what = what
  }

  get fields(): readonly FormField[] {
    return this.#fields
  }

  show(fields: readonly FormField[]): void {
    this.#fields = structuredClone(fields) as FormField[]
    this.#draw()
  }

  #draw(): void {
    this.element.replaceChildren(...this.#list(this.#fields, ''))
  }

  /** `path`: the place of the group whose fields these are, as its rows are numbered. */
  #list(fields: FormField[], path: string): HTMLElement[] {
    const rows = el(
      'ul',
      { class: 'form-rows' },
      ...fields.map((field, i) => this.#row(fields, field, `${path}${i + 1}`)),
    )
    const where = path === '' ? '' : ` to group ${path.slice(0, -1)}`
    const add = button(
      `Add a ${this.#what}`,
      () => {
        fields.push({ name: '', kind: 'text', options: '' })
        this.#redraw(`${path}${fields.length}`, 'input')
      },
      { class: 'small', 'data-adds': path, ...(where !== '' && { 'aria-label': `Add a ${this.#what}${where}` }) },
    )
    return [rows, add]
  }

  #row(among: FormField[], field: FormField, place: string): HTMLElement {
    const label = (which: string) => `${which} of ${this.#what} ${place}`
    const name = el('input', { 'aria-label': label('Name'), placeholder: 'name', spellcheck: 'false' })
    name.value = field.name
    name.addEventListener('input', () => this.#set(field, { name: name.value }))
    const depth = place.split('.').length
    const all = Object.keys(KINDS) as Kind[]
    const offered = this.#what === 'column' ? OF_COLUMNS : all.filter((each) => depth < DEEPEST || !isGroup(each))
    const kinds = all.filter((each) => each === field.kind || offered.includes(each))
    const kind = el(
      'select',
      { 'aria-label': label('Kind') },
      ...kinds.map((value) => el('option', { value }, KINDS[value].label)),
    )
    kind.value = field.kind
    kind.addEventListener('change', () => {
      const chosen = kind.value as Kind
      const fields = isGroup(chosen) ? (field.fields ?? [{ name: '', kind: 'text', options: '' }]) : undefined
      this.#set(field, { kind: chosen, ...(fields && { fields }) })
      this.#redraw(place, 'select')
    })
    const options = el('input', { class: 'form-options', 'aria-label': label('Choices'), placeholder: 'low, high' })
    options.value = field.options
    options.addEventListener('input', () => this.#set(field, { options: options.value }))
    const remove = button('×', () => this.#remove(among, field, place), {
      class: 'quiet icon',
      'aria-label': `Remove ${this.#what} ${place}`,
    })
    const within = isGroup(field.kind) && field.fields && this.#list(field.fields, `${place}.`)
    return el(
      'li',
      { 'data-place': place },
      name,
      kind,
      remove,
      field.kind === 'choice' && options,
      this.#what === 'field' && this.#missing(field, label('Optional')),
      within &&
        el('div', { class: 'form-group', role: 'group', 'aria-label': `Fields of ${field.name || place}` }, ...within),
    )
  }

  #missing(field: FormField, label: string): HTMLElement {
    const box = el('input', { type: 'checkbox', 'aria-label': label })
    box.checked = field.optional === true
    box.addEventListener('change', () => this.#set(field, { optional: box.checked }))
    return el('label', { class: 'check form-optional' }, box, 'optional')
  }

  #set(field: FormField, change: Partial<FormField>): void {
    Object.assign(field, change)
    this.#onChange(schemaOf(this.#fields))
  }

  #remove(among: FormField[], field: FormField, place: string): void {
    among.splice(among.indexOf(field), 1)
    this.#draw()
    this.#onChange(schemaOf(this.#fields))
    this.element.querySelector<HTMLElement>(`[data-adds="${place.replace(/\d+$/, '')}"]`)?.focus()
  }

  #redraw(place: string, focused: 'input' | 'select'): void {
    this.#draw()
    this.element.querySelector<HTMLElement>(`[data-place="${place}"] > ${focused}`)?.focus()
  }
}
