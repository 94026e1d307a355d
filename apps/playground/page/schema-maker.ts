import { button, byId, el } from './dom.js'
import { readable } from './readable.js'
import type { SchemaEditor } from './schema-editor.js'
import { syntaxFault } from './schema-fault.js'
import { fieldsOf } from './schema-fields.js'
import { SchemaForm } from './schema-form.js'
import { schemaFromExample } from './schema-from-example.js'

type Way = 'json' | 'form' | 'example'

/** Three ways to a schema: as JSON, by a form, from a document that shows what is wanted. All end in the editor. */
export class SchemaMaker {
  readonly #editor: SchemaEditor
  readonly #changed: () => void
  readonly #form: SchemaForm
  readonly #formPlace = el('div', { hidden: true })
  readonly #examplePlace: HTMLElement

  constructor(editor: SchemaEditor, changed: () => void) {
    this.#editor = editor
    this.#changed = changed
    this.#form = new SchemaForm((schema) => this.#write(schema))
    this.#examplePlace = this.#exampleForm()
    byId('schema-place', HTMLElement).append(editor.element, this.#formPlace, this.#examplePlace)
    for (const radio of document.querySelectorAll<HTMLInputElement>('input[name="schema-way"]')) {
      radio.addEventListener('change', () => this.show(radio.value as Way))
    }
  }

  /** Where the schema is seen as it is written: after an example, or where it is at fault. */
  show(way: Way): void {
    byId(`schema-by-${way}`, HTMLInputElement).checked = true
    this.#editor.element.hidden = way !== 'json'
    this.#formPlace.hidden = way !== 'form'
    this.#examplePlace.hidden = way !== 'example'
    if (way === 'form') this.#openForm()
    if (way === 'example') this.#examplePlace.querySelector('textarea')?.focus()
  }

  #openForm(): void {
    const text = this.#editor.text
    const fields = syntaxFault(text) ? undefined : fieldsOf(JSON.parse(text))
    if (fields) {
      this.#form.show(fields)
      this.#formPlace.replaceChildren(this.#form.element)
      return
    }
    // It would be lost: nobody is to find that out afterwards.
    const anew = button('Start a new schema', () => {
      this.#form.show([{ name: '', kind: 'text', options: '' }])
      this.#formPlace.replaceChildren(this.#form.element)
      this.#form.element.querySelector('input')?.focus()
    })
    this.#formPlace.replaceChildren(
      el('p', { class: 'notice' }, 'This schema is too complex for the form: change it as JSON.'),
      el('div', { class: 'actions' }, anew),
    )
  }

  #exampleForm(): HTMLElement {
    const area = el('textarea', {
      id: 'example-document',
      rows: 8,
      class: 'mono',
      spellcheck: 'false',
      placeholder: '{ "name": "Ada", "born": "1815-12-10", "languages": ["English"] }',
    })
    const fault = el('p', { class: 'field-error', role: 'alert', hidden: true })
    area.addEventListener('input', () => {
      fault.hidden = true
    })
    const make = button('Create schema', () => {
      const wrong = syntaxFault(area.value)
      fault.hidden = wrong === undefined
      fault.textContent = wrong?.message ?? ''
      if (wrong) return area.focus()
      this.#write(schemaFromExample(JSON.parse(area.value)))
      this.show('json')
    })
    const label = el('label', { for: 'example-document' }, 'Example document')
    return el('div', { class: 'example-form', hidden: true }, label, area, fault, el('div', { class: 'actions' }, make))
  }

  #write(schema: object): void {
    this.#editor.text = readable(schema)
    this.#changed()
  }
}
