import { onExample, showsExample, slugOf, wantedExample } from './address.js'
import { tellsEvidence } from './api.js'
import { showCode } from './code-dialog.js'
import { announce, button, byId, el, framed, swap } from './dom.js'
import { asideNotice } from './drafts.js'
import { takeDrops } from './drops.js'
import { failureView } from './failure-view.js'
import { seconds, whole } from './format.js'
import { Generation } from './generation.js'
import { setText } from './long-lines.js'
import { actionLabel, isNano } from './model-names.js'
import type { Models } from './models.js'
import { progressView } from './progress-view.js'
import { saveFile } from './save-file.js'
import type { FormField } from './schema-fields.js'
import { SchemaForm } from './schema-form.js'
import { samplingFields, settings } from './settings.js'
import { tableCode } from './table/code.js'
import { Details } from './table/details.js'
import { draftRequest, fieldsFromAnswer, fieldsFromWords } from './table/draft-schema.js'
import { type TableExample, tableExamples } from './table/examples.js'
import { tableAsCsv, tableAsJsonLines } from './table/export.js'
import { Filling } from './table/filling.js'
import { TableGrid } from './table/grid.js'
import { askedOf, leastSure, type Row, stateOf, type Wanted } from './table/rows.js'
import type { Head, Kept, TableStore } from './table/store.js'
import { MOST_ROWS, type SourceText, textsIn, textsInFiles } from './table/texts.js'

/** Less sure than this, a person looks first. */
const DOUBTFUL = 0.5
const KEEP_MS = 300
const DRAW_MS = 120

/** Texts, a sentence that says what is wanted of them, and the table that fills. */
export class TableView {
  readonly #models: Models
  readonly #store: TableStore
  readonly #sentence = byId('table-sentence', HTMLTextAreaElement)
  readonly #pasted = byId('table-texts', HTMLTextAreaElement)
  readonly #count = byId('table-count', HTMLElement)
  readonly #run = byId('table-fill', HTMLButtonElement)
  readonly #stop = byId('table-stop', HTMLButtonElement)
  readonly #state = byId('table-state', HTMLElement)
  readonly #sorted = byId('table-doubtful', HTMLInputElement)
  readonly #form = new SchemaForm(() => this.#edited(), 'column')
  readonly #grid = new TableGrid((id, field) => this.#open(id, field))
  readonly #details: Details
  readonly #drawSoon = framed(() => this.#draw())
  #rows: Row[] = []
  /** Read from files; what is pasted stands in its field. */
  #fromFiles: SourceText[] = []
  /** The names of files that hold no text. */
  #without: readonly string[] = []
  /** Another tab is at it. */
  #isElsewhere = false
  /** Another tab was at it and is gone, and nothing was changed here since. */
  #isLeft = false
  /** Texts that there is no room for. */
  #left = 0
  /** The name of the one that it began as. */
  #example: string | undefined
  /** A table was put aside for an example. */
  #hasAside = false
  #filling: Filling | undefined
  #error: unknown
  #drafting = false
  /** The model was asked for columns and could not say any. */
  #undrafted = false
  /** Something was written into the field since it was read. */
  #unread = false
  #keeping: ReturnType<typeof setTimeout> | undefined
  #drawing: ReturnType<typeof setTimeout> | undefined

  constructor(models: Models, store: TableStore) {
    this.#models = models
    this.#store = store
    this.#details = new Details({
      onEdit: (row) => {
        this.#store.keepRow(row)
        this.#drawSoon()
      },
      onNext: (row) => this.#openNext(row),
      onClose: () => this.#close(),
    })
    byId('table-columns', HTMLElement).append(this.#form.element)
    byId('table-grid', HTMLElement).append(this.#grid.element)
    byId('table-details', HTMLElement).append(this.#details.element)
    byId('table-examples', HTMLElement).append(...tableExamples.map((example) => this.#chip(example)))
    this.#sentence.addEventListener('input', () => {
      this.#tellSentence(false)
      this.#edited()
    })
    this.#sentence.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.ctrlKey || event.metaKey || event.isComposing) return
      event.preventDefault()
      void this.#draft()
    })
    const read = framed(() => this.#readTexts())
    this.#pasted.addEventListener('input', () => {
      this.#unread = true
      read()
    })
    byId('table-draft', HTMLButtonElement).addEventListener('click', () => void this.#draft())
    this.#run.addEventListener('click', () => void this.#fill())
    this.#stop.addEventListener('click', () => this.#leave())
    this.#sorted.addEventListener('change', () => this.#draw())
    byId('table-code', HTMLButtonElement).addEventListener('click', () => this.#showCode())
    byId('table-csv', HTMLButtonElement).addEventListener('click', () => {
      saveFile('table.csv', 'text/csv', tableAsCsv(this.#filled(), this.#fields))
    })
    byId('table-jsonl', HTMLButtonElement).addEventListener('click', () => {
      saveFile('table.jsonl', 'application/jsonl', tableAsJsonLines(this.#filled(), this.#fields))
    })
    byId('table', HTMLElement).addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !this.#filling) void this.#fill()
    })
    byId('table', HTMLElement).addEventListener('shown', () => this.#draw())
    this.#takeFiles()
    models.onChange(this.#drawSoon)
    onExample('table', (wanted) => {
      const example = exampleOf(wanted)
      if (example) this.#choose(example)
    })
    this.#show(tableExamples[0]!)
  }

  /** What was there before a reload, which goes on where it was. */
  async begin(): Promise<void> {
    const { head, rows } = await this.#store.read()
    this.#hasAside = await this.#store.hasAside()
    const wanted = exampleOf(wantedExample('table'))
    if (!head) {
      if (wanted) this.#show(wanted)
      return
    }
    this.#showKept({ head, rows })
    // What somebody made of an example is kept under its address.
    if (wanted && wanted.name !== head.example) return this.#choose(wanted)
    if (!head.filling) return
    if (await this.#store.isFilledElsewhere()) return this.#follow()
    const { loaded, kept } = this.#models.current?.metadata ?? {}
    if (loaded || kept || isNano(this.#models.selected)) await this.#fill()
  }

  /** What another tab has made of it once that rests, where nothing was changed here meanwhile. */
  async #follow(): Promise<void> {
    this.#isElsewhere = true
    this.#drawSoon()
    await this.#store.untilFilled()
    const { head, rows } = await this.#store.read()
    if (!this.#isElsewhere) return
    this.#isElsewhere = false
    if (!head) return this.#drawSoon()
    // Who stops it writes that down.
    this.#isLeft = head.filling
    this.#showKept({ head, rows })
  }

  #showKept({ head: { sentence, fields, pasted, example }, rows }: Kept): void {
    this.#example = example
    if (example !== undefined) showsExample('table', example, false)
    this.#fromFiles = rows.flatMap(({ text, from }) => (from === undefined ? [] : [{ text, from }]))
    this.#set({ sentence, fields }, pasted, rows)
  }

  get #fields(): readonly FormField[] {
    return this.#form.fields.filter(({ name }) => name.trim() !== '')
  }

  get #wanted(): Wanted {
    return { sentence: this.#sentence.value, fields: this.#fields }
  }

  get #limit(): { max_tokens?: number | string } {
    const { max_tokens } = samplingFields()
    return { ...(max_tokens !== undefined && { max_tokens }) }
  }

  #chip(example: TableExample): HTMLElement {
    const choose = () => {
      this.#choose(example)
      showsExample('table', example.name, true)
    }
    return button(example.name, choose, { class: 'chip', 'aria-pressed': 'false' })
  }

  #choose(example: TableExample): void {
    if (this.#filling) this.#leave()
    if (!this.#isExample()) {
      void this.#store.putAside({ head: this.#head(false), rows: this.#rows })
      this.#hasAside = true
    }
    this.#show(example)
    this.#keepAll()
  }

  /** Nobody has written anything, and nothing is filled. */
  #isExample(): boolean {
    const pasted = this.#pasted.value
    return this.#filled().length === 0 && tableExamples.some(({ texts }) => texts.join('\n') === pasted)
  }

  #show({ name, sentence, fields, texts }: TableExample): void {
    this.#fromFiles = []
    this.#without = []
    this.#example = name
    showsExample('table', name, false)
    this.#set({ sentence, fields }, texts.join('\n'), [])
    this.#textsChanged(false)
  }

  #set({ sentence, fields }: Wanted, pasted: string, rows: Row[]): void {
    this.#close()
    this.#error = undefined
    this.#undrafted = false
    this.#tellSentence(false)
    this.#sentence.value = sentence
    this.#form.show(fields)
    setText(this.#pasted, pasted)
    this.#rows = rows
    this.#draw()
  }

  #edited(): void {
    this.#error = undefined
    this.#keepHead()
    this.#drawSoon()
  }

  #head(filling: boolean): Head {
    const example = this.#example
    return { ...this.#wanted, pasted: this.#pasted.value, filling, ...(example !== undefined && { example }) }
  }

  #keepHead(): void {
    this.#isElsewhere = this.#isLeft = false
    this.#store.keepHead(this.#head(this.#filling !== undefined))
  }

  #keepAll(): void {
    clearTimeout(this.#keeping)
    this.#keepHead()
    this.#store.keepRows(this.#rows)
  }

  /** Who types goes on typing: not for each letter. */
  #keepSoon(): void {
    // Whoever types here has a table of his own.
    this.#isElsewhere = false
    clearTimeout(this.#keeping)
    this.#keeping = setTimeout(() => this.#keepAll(), KEEP_MS)
  }

  /** A text that is pasted may come in many pieces. */
  #readTexts(): void {
    if (this.#unread) this.#textsChanged()
  }

  /** What was made of a text stays with it, wherever it stands now. */
  #textsChanged(keep = true): void {
    this.#unread = false
    const known = new Map<string, Row[]>()
    for (const row of this.#rows) known.set(row.text, [...(known.get(row.text) ?? []), row])
    const texts = [...textsIn(this.#pasted.value), ...this.#fromFiles]
    this.#left = Math.max(0, texts.length - MOST_ROWS)
    this.#rows = texts.slice(0, MOST_ROWS).map(({ text, from }, id) => {
      const before = known.get(text)?.shift()
      return { ...before, id, text, ...(from !== undefined && { from }) }
    })
    this.#close()
    if (keep) this.#keepSoon()
    this.#draw()
  }

  #takeFiles(): void {
    const chooser = byId('table-files', HTMLInputElement)
    const take = async (files: readonly File[]) => {
      const { texts, without } = await textsInFiles(files)
      this.#fromFiles.push(...texts)
      // The example's lines are nobody's.
      if (texts.length > 0 && this.#isExample()) this.#pasted.value = ''
      this.#without = without
      this.#textsChanged()
      announce(`${whole(this.#rows.length)} texts. ${leftOut(without)}`)
    }
    byId('table-choose', HTMLButtonElement).addEventListener('click', () => chooser.click())
    chooser.addEventListener('change', () => {
      void take([...(chooser.files ?? [])])
      chooser.value = ''
    })
    takeDrops((files) => {
      // A model is somebody else's; pictures and the like lie in folders beside texts.
      if (byId('table', HTMLElement).hidden || files.some(({ name }) => /\.gguf$/i.test(name))) return false
      if (!this.#filling) void take(files)
      return true
    })
  }

  /** The columns, from the sentence: by the model where that converses, from the words alone where it does not. */
  async #draft(): Promise<void> {
    const sentence = this.#sentence.value.trim()
    if (sentence === '' || this.#drafting || this.#filling) return this.#sentence.focus()
    let fields = fieldsFromWords(sentence)
    this.#undrafted = false
    if (!isNano(this.#models.selected)) {
      this.#drafting = true
      this.#draw()
      try {
        await this.#models.loadForRequest()
        const generation = new Generation()
        const body = draftRequest(this.#models.selected, sentence, this.#rows[0]?.text ?? '')
        await generation.run(body, settings().project, () => {})
        fields = fieldsFromAnswer(generation.text)
      } catch {
        // The words are there in any case.
        this.#undrafted = true
      } finally {
        this.#drafting = false
      }
    }
    if (fields.length === 0) fields = fieldsFromWords(sentence)
    // The columns that are there stay: a sentence that names none is no wish for an empty table.
    this.#tellSentence(fields.length === 0)
    if (fields.length === 0) return this.#sentence.focus()
    this.#form.show(fields)
    this.#edited()
    announce(`Columns: ${fields.map(({ name }) => name).join(', ')}.`)
  }

  #tellSentence(namesNone: boolean): void {
    byId('table-sentence-fault', HTMLElement).hidden = !namesNone
    if (namesNone) this.#sentence.setAttribute('aria-invalid', 'true')
    else this.#sentence.removeAttribute('aria-invalid')
  }

  async #fill(): Promise<void> {
    if (this.#filling) return
    this.#readTexts()
    if (this.#fields.length === 0) await this.#draft()
    if (this.#fields.length === 0) return this.#sentence.focus()
    if (this.#rows.length === 0) return this.#pasted.focus()
    const waiting = this.#waiting()
    // Where none waits, all are asked for once more.
    const rows = waiting.length > 0 ? waiting : this.#rows
    for (const row of rows) row.asked = ''
    this.#error = undefined
    this.#undrafted = false
    const filling = new Filling(this.#wanted, {
      model: this.#models.selected,
      project: settings().project,
      evidence: tellsEvidence(this.#models.current),
      limit: this.#limit,
      onRow: (row, isWhole) => {
        if (isWhole) this.#store.keepRow(row)
        this.#drawNowAndThen()
      },
    })
    this.#filling = filling
    this.#keepHead()
    this.#setBusy(true)
    try {
      await this.#store.whileFilling(async () => {
        await this.#models.loadForRequest()
        if (!filling.stopped) await filling.run(rows)
      })
      if (!filling.stopped) announce(filledWords(rows))
    } catch (error) {
      if (!filling.stopped || filling.failed) this.#error = error
    } finally {
      if (this.#filling === filling) this.#filling = undefined
      this.#keepHead()
      this.#setBusy(false)
      if (filling.stopped && !filling.failed) announce('Stopped.')
    }
  }

  #leave(): void {
    this.#filling?.stop()
    const { selected, loads } = this.#models
    if (loads.has(selected)) void this.#models.unload(selected).catch(() => {})
  }

  #setBusy(busy: boolean): void {
    const inputs = byId('table-inputs', HTMLFieldSetElement)
    // Who pressed the keys in a field that rests now holds the button too.
    swap(busy, this.#run, this.#stop, inputs)
    inputs.disabled = busy
    this.#draw()
  }

  #waiting(): Row[] {
    const request = askedOf(this.#wanted)
    return this.#rows.filter((row) => row.asked !== request || row.fault !== undefined)
  }

  #filled(): Row[] {
    const request = askedOf(this.#wanted)
    return this.#rows.filter((row) => row.asked === request && row.fault === undefined)
  }

  #open(id: number, field: string | undefined): void {
    const row = this.#rows[id]
    if (!row || this.#filling?.writing.has(id)) return
    this.#details.show(row, this.#fields, field)
    this.#draw()
  }

  #openNext(row: Row): void {
    const fields = this.#fields
    const doubtful = this.#filled().filter((each) => each.id !== row.id && isDoubtful(each, fields))
    const next = doubtful.find(({ id }) => id > row.id) ?? doubtful[0]
    if (!next) {
      announce('No other row is doubtful.')
      return
    }
    const least = fields.toSorted((a, b) => sure(next, a) - sure(next, b))[0]
    this.#open(next.id, least?.name)
  }

  #close(): void {
    const { row } = this.#details
    this.#details.close()
    if (row !== undefined) this.#grid.focusOn(row)
    this.#drawSoon()
  }

  /** Several rows are written at once, a few letters at a time: so often nobody reads. */
  #drawNowAndThen(): void {
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined
      this.#drawSoon()
    }, DRAW_MS)
  }

  #draw(): void {
    // It is drawn once it is shown.
    if (byId('table', HTMLElement).hidden) return
    const wanted = this.#wanted
    const request = askedOf(wanted)
    const writing = this.#filling?.writing ?? new Set<number>()
    const pasted = this.#pasted.value
    for (const [i, chip] of [...byId('table-examples', HTMLElement).children].entries())
      chip.setAttribute('aria-pressed', String(tableExamples[i]!.texts.join('\n') === pasted))
    const files = this.#fromFiles.length
    this.#count.replaceChildren(
      `${whole(this.#rows.length)} ${this.#rows.length === 1 ? 'text' : 'texts'}`,
      ...(this.#left === 0 ? [] : [`, the most at once: ${whole(this.#left)} more are left out`]),
      ...(files === 0
        ? []
        : [
            `, ${whole(files)} of them from files `,
            button(
              'Remove these',
              () => {
                this.#fromFiles = []
                this.#without = []
                this.#textsChanged()
              },
              { class: 'quiet small' },
            ),
          ]),
      ...(this.#without.length === 0 ? [] : [el('span', { class: 'table-without' }, leftOut(this.#without))]),
    )
    const rows = this.#sorted.checked && !this.#filling ? doubtfulFirst(this.#rows, wanted, request) : this.#rows
    this.#grid.show({ rows, fields: wanted.fields, request, writing, open: this.#details.row })
    this.#drawState()
  }

  #drawState(): void {
    const filled = this.#filled()
    const waiting = this.#waiting()
    const load = this.#filling ? this.#models.loads.get(this.#models.selected) : undefined
    const left = this.#filling?.secondsFor(waiting.length)
    const doubtful = filled.filter((row) => isDoubtful(row, this.#fields)).length
    const failed = waiting.filter(({ fault, asked }) => fault !== undefined && asked !== '').length
    const stale = waiting.filter(
      ({ asked, fault }) => fault === undefined && asked !== undefined && asked !== '',
    ).length
    const facts = [
      this.#undrafted && 'The model could not draft the columns: they are made from your words',
      this.#rows.length > 0 && `${whole(filled.length)} of ${whole(this.#rows.length)} rows filled`,
      doubtful > 0 && `${whole(doubtful)} doubtful`,
      failed > 0 && `${whole(failed)} failed`,
      stale > 0 && `${whole(stale)} from before the change`,
      this.#isElsewhere && 'being filled in another tab',
      this.#isLeft && waiting.length > 0 && 'the tab that filled it is closed: go on with Fill',
      left !== undefined && waiting.length > 0 && `about ${seconds(left)} left`,
    ].filter((fact) => fact !== false)
    const bar = el('progress', {
      max: Math.max(1, this.#rows.length),
      value: filled.length,
      'aria-label': 'Rows filled',
    })
    this.#state.replaceChildren(
      ...(this.#error ? [failureView(this.#error, () => void this.#fill())] : []),
      ...(load ? [progressView(load)] : []),
      ...(this.#filling && !load ? [bar] : []),
      el(
        'p',
        { class: 'table-facts', id: 'table-facts' },
        this.#drafting ? 'The model is drafting the columns.' : facts.join(' · '),
      ),
      ...(this.#hasAside && !this.#filling ? [this.#asideView()] : []),
    )
    const isOver = waiting.length === 0 && this.#rows.length > 0
    const rows = `${whole(waiting.length)} ${waiting.length === 1 ? 'row' : 'rows'}`
    this.#run.textContent = actionLabel(this.#models, isOver ? 'Fill again' : `Fill ${rows}`)
    for (const id of ['table-csv', 'table-jsonl']) byId(id, HTMLButtonElement).disabled = filled.length === 0
    this.#sorted.disabled = filled.length === 0 || this.#filling !== undefined
  }

  #asideView(): HTMLElement {
    const over = () => {
      this.#hasAside = false
      this.#draw()
      this.#sentence.focus()
    }
    const back = async () => {
      const kept = await this.#store.takeAside()
      if (kept) {
        this.#showKept(kept)
        this.#keepAll()
      }
      over()
    }
    const discard = () => {
      this.#store.discardAside()
      over()
    }
    return el('div', { class: 'notice aside' }, ...asideNotice('table', () => void back(), discard))
  }

  #showCode(): void {
    const { selected, current } = this.#models
    const request = {
      wanted: this.#wanted,
      model: selected,
      evidence: tellsEvidence(current),
      limit: this.#limit,
      text: this.#rows[0]?.text ?? '',
    }
    showCode((place) => tableCode(request, place))
  }
}

function filledWords(rows: readonly Row[]): string {
  const failed = rows.filter(({ fault }) => fault !== undefined).length
  if (failed === 0) return `All ${whole(rows.length)} rows are filled.`
  return `${whole(rows.length - failed)} of ${whole(rows.length)} rows are filled, ${whole(failed)} failed.`
}

/** Whoever drops a folder sees what of it is not in the table. */
function leftOut(names: readonly string[]): string {
  if (names.length === 0) return ''
  const named = names.slice(0, 3).join(', ')
  const more = names.length > 3 ? ` and ${whole(names.length - 3)} more` : ''
  return `Left out because there is no text in ${names.length === 1 ? 'it' : 'them'}: ${named}${more}.`
}

const exampleOf = (slug: string | undefined): TableExample | undefined =>
  tableExamples.find(({ name }) => slugOf(name) === slug)

const sure = (row: Row, { name }: FormField): number => leastSure(row, [{ name, kind: 'text', options: '' }]) ?? 1

const isDoubtful = (row: Row, fields: readonly FormField[]): boolean => (leastSure(row, fields) ?? 1) < DOUBTFUL

/** What a person would look at stands first; what is not filled stands last. */
function doubtfulFirst(rows: readonly Row[], { fields }: Wanted, request: string): readonly Row[] {
  const none = new Set<number>()
  const rank = (row: Row) =>
    stateOf(row, request, none) === 'failed' ? -1 : row.asked === request ? (leastSure(row, fields) ?? 1) : 2
  const ranks = new Map(rows.map((row) => [row, rank(row)]))
  return rows.toSorted((a, b) => ranks.get(a)! - ranks.get(b)! || a.id - b.id)
}
