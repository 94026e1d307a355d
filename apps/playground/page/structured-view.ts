import { readPartial } from '../../../src/grammar/partial-json.js'
import { onExample, showsExample, slugOf, wantedExample } from './address.js'
import { ApiError, type ChatBody, tellsEvidence } from './api.js'
import { chatCode } from './code.js'
import { showCode } from './code-dialog.js'
import { copy } from './copy.js'
import { announce, become, button, byId, el, framed, showPanelOf, swap } from './dom.js'
import { asideView, Drafts } from './drafts.js'
import { frameOf } from './embed.js'
import { type Example, examples } from './examples.js'
import { failureView } from './failure-view.js'
import { fieldsView } from './fields-view.js'
import { linkWith } from './fragment.js'
import { Generation } from './generation.js'
import { setText } from './long-lines.js'
import { metricsView } from './metrics-view.js'
import { actionLabel } from './model-names.js'
import type { Models } from './models.js'
import { progressView } from './progress-view.js'
import { readable } from './readable.js'
import { SchemaEditor } from './schema-editor.js'
import { faultOf, lengthFault, syntaxFault } from './schema-fault.js'
import { SchemaMaker } from './schema-maker.js'
import { refusalFor } from './schema-refusal.js'
import { samplingFields, settings } from './settings.js'
import { clearSettingErrors, showSettingError } from './settings-view.js'
import { packed, sharedNow } from './share.js'
import { SourcesView } from './sources-view.js'
import type { Draft } from './structured-draft.js'
import { TokensView } from './tokens-view.js'

/** A text and a schema on one side, the document that fills in on the other. */
export class StructuredView {
  readonly #models: Models
  readonly #editor: SchemaEditor
  readonly #maker: SchemaMaker
  readonly #drafts = new Drafts<Draft>('draft')
  readonly #showAside: () => void
  readonly #instructions = byId('instructions', HTMLInputElement)
  readonly #text = byId('text', HTMLTextAreaElement)
  readonly #run = byId('run', HTMLButtonElement)
  readonly #stop = byId('stop', HTMLButtonElement)
  readonly #answer = byId('answer', HTMLElement)
  readonly #metrics = byId('metrics', HTMLElement)
  readonly #drawSoon = framed(() => this.#draw())
  #name = 'document'
  readonly #sources = new SourcesView()
  readonly #tokens = new TokensView()
  #view: 'fields' | 'tokens' | 'sources' = 'tokens'
  /** Nobody has written anything here yet: it is an example, or what a link holds. */
  #isFresh = false
  #generation: Generation | undefined
  /** What it answers: the fields may have changed since. */
  #request: ChatBody | undefined
  /** The schema that the answer is being written for; the one in the editor may have changed since. */
  #schema: unknown
  #busy = false
  #error: unknown

  /** `shared` comes from a link, and stands before what was kept. */
  constructor(models: Models, shared?: Draft) {
    this.#models = models
    const edited = () => {
      this.#forget()
      this.#drawSoon()
      this.#keep()
    }
    this.#editor = new SchemaEditor('schema-label', edited)
    this.#maker = new SchemaMaker(this.#editor, edited)
    for (const field of [this.#instructions, this.#text])
      field.addEventListener('input', () => {
        this.#keep()
        this.#drawSoon()
      })
    const put = byId('put-aside', HTMLElement)
    const focus = () => this.#text.focus()
    this.#showAside = asideView(put, this.#drafts, (draft) => this.#show(draft), focus)
    const share = byId('share', HTMLButtonElement)
    share.addEventListener('click', () => void this.#share((link) => copy(link, share)))
    const embed = byId('embed', HTMLButtonElement)
    embed.addEventListener('click', () => void this.#share((link) => copy(frameOf(link), embed)))
    byId('examples', HTMLElement).append(...examples.map((example) => this.#chip(example)))
    onExample('structured', (wanted) => this.#open(wanted))
    this.#run.addEventListener('click', () => void this.#start())
    this.#stop.addEventListener('click', () => void this.#leave())
    models.onChange(this.#drawSoon)
    byId('structured-code', HTMLButtonElement).addEventListener('click', () => this.#showCode())
    const copyJson = byId('copy-json', HTMLButtonElement)
    copyJson.addEventListener('click', () => void copy(this.#generation?.text ?? '', copyJson))
    for (const radio of document.querySelectorAll<HTMLInputElement>('input[name="answer-view"]')) {
      radio.addEventListener('change', () => {
        this.#view = radio.value as 'fields' | 'tokens' | 'sources'
        this.#draw()
      })
    }
    byId('structured', HTMLElement).addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !this.#busy) void this.#start()
    })
    if (shared) {
      this.#replace(shared)
      this.#isFresh = true
    } else {
      const wanted = exampleOf(wantedExample('structured'))
      const { current } = this.#drafts
      if (wanted && current?.name !== wanted.name.toLowerCase()) this.#load(wanted)
      else if (current) this.#show(current)
      else this.#load(examples[0]!)
      this.#isFresh = !this.#drafts.edited
    }
    this.#showAside()
  }

  /** Who has written nothing here sees at once what this does: the example answered, or what was sent. */
  async introduce(): Promise<void> {
    if (this.#isFresh && !this.#busy && this.#generation === undefined) await this.#start(false)
  }

  #chip(example: Example): HTMLElement {
    const choose = () => {
      this.#load(example)
      showsExample('structured', example.name, true)
    }
    return button(example.name, choose, { class: 'chip', 'aria-pressed': 'false' })
  }

  /** By its address. */
  #open(wanted: string): void {
    const example = exampleOf(wanted)
    if (example) this.#load(example)
  }

  #load({ name, instructions, text, schema }: Example): void {
    this.#replace({ name: name.toLowerCase(), instructions, text, schema: readable(schema) })
  }

  #replace(draft: Draft): void {
    this.#drafts.replace(draft)
    this.#show(draft)
    this.#showAside()
  }

  #show({ name, instructions, text, schema }: Draft): void {
    this.#generation?.stop()
    this.#name = name
    this.#instructions.value = instructions
    setText(this.#text, text)
    this.#editor.text = schema
    this.#maker.show('json')
    for (const chip of byId('examples', HTMLElement).children) {
      chip.setAttribute('aria-pressed', String(chip.textContent?.toLowerCase() === name))
    }
    showsExample('structured', name, false)
    this.#forget()
    this.#draw()
  }

  #draft(): Draft {
    const schema = this.#editor.text
    return { name: this.#name, instructions: this.#instructions.value, text: this.#text.value, schema }
  }

  #keep(): void {
    this.#drafts.keep(this.#draft())
  }

  /** What was answered before was for another schema. */
  #forget(): void {
    this.#generation = undefined
    this.#error = undefined
    this.#schema = syntaxFault(this.#editor.text) ? undefined : JSON.parse(this.#editor.text)
  }

  #body(schema: unknown): ChatBody {
    const instructions = this.#instructions.value.trim()
    return {
      model: this.#models.selected,
      messages: [
        ...(instructions === '' ? [] : [{ role: 'system' as const, content: instructions }]),
        { role: 'user', content: this.#text.value },
      ],
      ...samplingFields(),
      ...(tellsEvidence(this.#models.current) && { evidence: true }),
      response_format: { type: 'json_schema', json_schema: { name: this.#name, strict: true, schema } },
    }
  }

  /** Only what can be answered is sent on. */
  async #share(give: (link: string) => Promise<void>): Promise<void> {
    const source = this.#editor.text
    const fault = syntaxFault(source)
    if (fault) return this.#refuse(fault)
    const refusal = await refusalFor(this.#body(JSON.parse(source)))
    if (refusal !== undefined) return this.#refuse(faultOf(source, refusal))
    await give(linkWith('share', await packed(sharedNow(this.#draft()))))
  }

  async #leave(): Promise<void> {
    this.#generation?.stop()
    const { selected, loads } = this.#models
    if (loads.has(selected)) await this.#models.unload(selected).catch(() => {})
  }

  #showCode(): void {
    const fault = syntaxFault(this.#editor.text)
    if (fault) this.#refuse(fault)
    else {
      const body = this.#body(JSON.parse(this.#editor.text))
      showCode((place) => chatCode(body, place))
    }
  }

  #refuse(fault: ReturnType<typeof faultOf>): void {
    this.#maker.show('json')
    this.#editor.show(fault)
    this.#editor.focus()
  }

  async #start(goThere = true): Promise<void> {
    const source = this.#editor.text
    const fault = syntaxFault(source)
    if (fault) return this.#refuse(fault)
    this.#editor.show(undefined)
    clearSettingErrors()
    const generation = new Generation()
    this.#generation = generation
    this.#schema = JSON.parse(source)
    this.#error = undefined
    this.#setBusy(true)
    if (goThere) showPanelOf(this.#answer)
    try {
      await this.#models.loadForRequest()
      this.#request = this.#body(this.#schema)
      await generation.run(this.#request, settings().project, this.#drawSoon)
      // One that is closed near the limit is told as any other: nobody knows whether it would have gone on.
      const { stopped, tokens, limited } = generation
      announce(stopped ? 'Stopped.' : limited ? `The answer ${limited}.` : `The answer is there: ${tokens} tokens.`)
    } catch (error) {
      this.#fail(error, source)
    } finally {
      this.#setBusy(false)
    }
  }

  #fail(error: unknown, source: string): void {
    // Without a word of it, there is no answer to speak of.
    if (this.#generation?.pieces.length === 0) {
      const { stopped } = this.#generation
      this.#generation = undefined
      if (stopped) return
    }
    const { code, param, message = '' }: Partial<ApiError> = error instanceof ApiError ? error : {}
    // The model reads it too.
    const isLong = code === 'context_length_exceeded' && JSON.stringify(this.#schema).length > this.#text.value.length
    if ((param === 'response_format' || isLong) && this.#editor.text === source)
      this.#refuse(isLong ? lengthFault(message) : faultOf(source, message))
    else if (!showSettingError(error)) this.#error = error
  }

  #setBusy(busy: boolean): void {
    this.#busy = busy
    swap(busy, this.#run, this.#stop)
    this.#answer.setAttribute('aria-busy', String(busy))
    this.#draw()
  }

  #draw(): void {
    const generation = this.#generation
    const text = generation?.text ?? ''
    const shown = this.#shown(generation)
    const load = this.#busy ? this.#models.loads.get(this.#models.selected) : undefined
    const error = this.#error ? failureView(this.#error, () => void this.#start()) : undefined
    const nodes = [...(error ? [error] : []), ...(load ? [progressView(load)] : []), shown]
    const standing = this.#answer.firstElementChild
    const isAlone = nodes.length === 1 && this.#answer.children.length === 1
    // What stands there already keeps its focus, and a slider its finger.
    if (isAlone && standing?.cloneNode().isEqualNode(shown.cloneNode())) {
      if (standing !== shown) become(standing, shown)
    } else this.#answer.replaceChildren(...nodes)
    this.#run.textContent = actionLabel(this.#models, 'Generate')
    this.#metrics.replaceChildren(metricsView(generation))
    this.#drawNote(generation)
    byId('copy-json', HTMLButtonElement).disabled = text === '' || this.#busy
  }

  #drawNote(generation: Generation | undefined): void {
    const { limited, pieces = [] } = generation ?? {}
    const wanted = this.#body(this.#schema).messages
    const { messages = [] } = this.#request ?? {}
    const isOther =
      wanted.length !== messages.length || wanted.some(({ content }, i) => content !== messages[i]!.content)
    const notes = [
      limited && `The answer ${limited}.`,
      pieces.length > 0 && isOther && 'This answer is of an earlier text.',
    ]
    const note = byId('answer-note', HTMLElement)
    note.textContent = notes.filter(Boolean).join(' ')
    note.hidden = note.textContent === ''
  }

  #shown(generation: Generation | undefined): HTMLElement {
    const written = generation !== undefined && generation.pieces.length > 0
    if (written && this.#view === 'tokens') {
      this.#tokens.show(generation.pieces)
      return this.#tokens.element
    }
    const value = readPartial(generation?.text ?? '')
    if (!written || this.#view !== 'sources') return fieldsView(this.#schema, value, this.#busy)
    if (!this.#request?.evidence) {
      const why = 'This model does not say how sure it is. Models that run on this device do.'
      return el('p', { class: 'muted' }, why)
    }
    const message = this.#request.messages.length - 1
    const { content } = this.#request.messages[message]!
    this.#sources.show({ text: content, message, value, evidence: generation.evidence })
    return this.#sources.element
  }
}

const exampleOf = (slug: string | undefined): Example | undefined => examples.find(({ name }) => slugOf(name) === slug)
