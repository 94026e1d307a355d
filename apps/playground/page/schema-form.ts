import { button, el } from './dom.js'

/** The kinds of field that a form can make, each with its schema. */
const KINDS = {
  text: { label: 'text', schema: { type: 'string' } },
  integer: { label: 'whole number', schema: { type: 'integer' } },
  number: { label: 'number', schema: { type: 'number' } },
  boolean: { label: 'yes or no', schema: { type: 'boolean' } },
  date: { label: 'date', schema: { type: 'string', format: 'date' } },
  choice: { label: 'one of', schema: { enum: [] } },
  texts: { label: 'list of texts', schema: { type: 'array', items: { type: 'string' } } },
} as const
export type Kind = keyof typeof KINDS

export interface FormField {
  name: string
  kind: Kind
  /** Of `choice`, with commas between. */
  options: string
}

export function schemaOf(fields: readonly FormField[]): object {
  const named = fields.filter(({ name }) => name.trim() !== '')
  const properties = named.map(({ name, kind, options }) => [
    name.trim(),
    kind === 'choice' ? { enum: choices(options) } : KINDS[kind].schema,
  ])
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: [...new Set(named.map(({ name }) => name.trim()))],
    additionalProperties: false,
  }
}

function choices(text: string): string[] {
  const words = text.split(',').flatMap((word) => (word.trim() === '' ? [] : [word.trim()]))
  return words.length === 0 ? ['yes', 'no'] : [...new Set(words)]
}

/** The fields of a schema that a form could have made; undefined where it says more than that. */
export function fieldsOf(schema: unknown): FormField[] | undefined {
  const { type, properties, required, additionalProperties, ...rest } = (schema ?? {}) as Record<string, unknown>
  if (type !== 'object' || additionalProperties !== false || Object.keys(rest).length > 0) return undefined
  if (typeof properties !== 'object' || properties === null || !Array.isArray(required)) return undefined
  const names = Object.keys(properties)
  if (names.length !== required.length || !names.every((name) => required.includes(name))) return undefined
  const fields = Object.entries(properties).map(([name, field]) => fieldOf(name, field))
  return fields.every((field) => field !== undefined) ? fields : undefined
}

function fieldOf(name: string, schema: unknown): FormField | undefined {
  const { enum: values, ...rest } = (schema ?? {}) as { enum?: unknown }
  if (Array.isArray(values) && Object.keys(rest).length === 0) {
    const plain = values.every((value) => typeof value === 'string' && !value.includes(','))
    return plain ? { name, kind: 'choice', options: values.join(', ') } : undefined
  }
  const text = JSON.stringify(schema)
  const kind = (Object.keys(KINDS) as Kind[]).find((each) => JSON.stringify(KINDS[each].schema) === text)
  return kind ? { name, kind, options: '' } : undefined
}

/** Rows of name and kind; `onChange` hears of every change. */
export class SchemaForm {
  readonly element = el('div', { class: 'schema-form' })
  readonly #rows = el('ul', { class: 'form-rows' })
  readonly #onChange: (schema: object) => void
  readonly #what: string
  #fields: FormField[] = []

  /** `what`: what its rows are called. */
  constructor(onChange: (schema: object) => void, what: 'field' | 'column' = 'field') {
    this.#onChange = onChange
    this.#what = what
    const add = button(`Add a ${what}`, () => {
      this.#fields.push({ name: '', kind: 'text', options: '' })
      this.#draw()
      this.#rows.lastElementChild?.querySelector('input')?.focus()
    })
    this.element.append(this.#rows, add)
  }

  get fields(): readonly FormField[] {
    return this.#fields
  }

  show(fields: readonly FormField[]): void {
    this.#fields = fields.map((field) => ({ ...field }))
    this.#draw()
  }

  #draw(): void {
    this.#rows.replaceChildren(...this.#fields.map((field, i) => this.#row(field, i)))
  }

  #row(field: FormField, i: number): HTMLElement {
    const label = (which: string) => `${which} of ${this.#what} ${i + 1}`
    const name = el('input', { 'aria-label': label('Name'), placeholder: 'name', spellcheck: 'false' })
    name.value = field.name
    name.addEventListener('input', () => this.#set(field, { name: name.value }))
    const kinds = Object.entries(KINDS).map(([value, { label }]) => el('option', { value }, label))
    const kind = el('select', { 'aria-label': label('Kind') }, ...kinds)
    kind.value = field.kind
    kind.addEventListener('change', () => {
      this.#set(field, { kind: kind.value as Kind })
      this.#draw()
      this.#rows.children[i]?.querySelector('select')?.focus()
    })
    const options = el('input', { class: 'form-options', 'aria-label': label('Choices'), placeholder: 'low, high' })
    options.value = field.options
    options.addEventListener('input', () => this.#set(field, { options: options.value }))
    const remove = button('×', () => this.#remove(field), {
      class: 'quiet icon',
      'aria-label': `Remove ${this.#what} ${i + 1}`,
    })
    return el('li', {}, name, kind, field.kind === 'choice' && options, remove)
  }

  #set(field: FormField, change: Partial<FormField>): void {
    Object.assign(field, change)
    this.#onChange(schemaOf(this.#fields))
  }

  #remove(field: FormField): void {
    this.#fields = this.#fields.filter((each) => each !== field)
    this.#draw()
    this.#onChange(schemaOf(this.#fields))
    this.element.querySelector<HTMLElement>(':scope > button')?.focus()
  }
}
