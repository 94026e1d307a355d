import { onExample, showsExample, slugOf, wantedExample } from './address.js'
import { ask, overNetwork } from './api.js'
import { becomeAfter, button, byId, el, framed, showPanelOf, swap } from './dom.js'
import { asideView, Drafts } from './drafts.js'
import { failureView } from './failure-view.js'
import { milliseconds } from './format.js'
import type { Models } from './models.js'
import { readable } from './readable.js'
import { Reader, type Reading, readingOf } from './request-reading.js'
import { canDo, type RequestSample, requestSamples } from './request-samples.js'
import { syntaxFault } from './schema-fault.js'
import { StreamEventsView } from './stream-events.js'

/** What stands in the fields. */
interface RequestDraft {
  readonly name: string
  readonly path: string
  readonly body: string
}

/** Any request of `/v1`, written by hand, and its answer as it comes. */
export class RequestsView {
  readonly #models: Models
  readonly #path = byId('request-path', HTMLInputElement)
  readonly #body = byId('request-body', HTMLTextAreaElement)
  readonly #answer = byId('request-answer', HTMLElement)
  readonly #fault = byId('request-fault', HTMLElement)
  readonly #send = byId('request-send', HTMLButtonElement)
  readonly #stop = byId('request-stop', HTMLButtonElement)
  readonly #ways = byId('request-ways', HTMLElement)
  readonly #drafts = new Drafts<RequestDraft>('request')
  readonly #showAside: () => void
  #name = ''
  #aborter: AbortController | undefined

  constructor(models: Models) {
    this.#models = models
    const chips = requestSamples.map((sample) =>
      button(
        sample.name,
        () => {
          this.#load(sample)
          showsExample('requests', sample.name, true)
        },
        { class: 'chip', 'aria-pressed': 'false' },
      ),
    )
    onExample('requests', (wanted) => {
      const sample = sampleOf(wanted)
      if (sample) this.#load(sample)
    })
    byId('request-samples', HTMLElement).append(...chips)
    this.#send.addEventListener('click', () => void this.#start())
    this.#stop.addEventListener('click', () => this.#aborter?.abort())
    byId('requests', HTMLElement).addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !this.#aborter) void this.#start()
    })
    this.#offer()
    models.onChange(() => this.#offer())
    let shown = models.selected
    models.onChange(() => {
      // Whoever wrote a body of their own keeps it; only its model follows the choice.
      if (models.selected === shown) return
      this.#body.value = this.#body.value.replaceAll(JSON.stringify(shown), JSON.stringify(models.selected))
      shown = models.selected
    })
    for (const field of [this.#path, this.#body]) field.addEventListener('input', () => this.#keep())
    this.#body.addEventListener('input', () => this.#fit())
    this.#ways.addEventListener('change', () => this.#showWay())
    const aside = byId('request-aside', HTMLElement)
    this.#showAside = asideView(
      aside,
      this.#drafts,
      (draft) => this.#show(draft),
      () => this.#body.focus(),
    )
    const { current, edited } = this.#drafts
    const wanted = sampleOf(wantedExample('requests'))
    if (wanted && current?.name !== wanted.name) this.#load(wanted)
    else if (current && edited) this.#show(current)
    else this.#load(requestSamples.find(({ name }) => name === current?.name) ?? requestSamples[0]!)
  }

  /** Those that the chosen model can do; the one that is there stays. */
  #offer(): void {
    for (const [i, chip] of [...byId('request-samples', HTMLElement).children].entries()) {
      const sample = requestSamples[i]!
      ;(chip as HTMLElement).hidden = sample.name !== this.#name && !canDo(sample, this.#models.current)
    }
  }

  #load(sample: RequestSample): void {
    const body = readable(sample.body(this.#models.selected))
    const draft = { name: sample.name, path: sample.path, body }
    this.#drafts.replace(draft)
    this.#show(draft)
    this.#showAside()
  }

  #show({ name, path, body }: RequestDraft): void {
    this.#aborter?.abort()
    this.#name = name
    this.#path.value = path
    this.#body.value = body
    this.#fit()
    this.#ways.hidden = true
    byId('request-about', HTMLElement).textContent = requestSamples.find((each) => each.name === name)?.about ?? ''
    for (const chip of byId('request-samples', HTMLElement).children) {
      chip.setAttribute('aria-pressed', String(chip.textContent === name))
    }
    this.#offer()
    showsExample('requests', name, false)
    this.#answer.replaceChildren(
      el('p', { class: 'muted' }, 'Send this request, or change it first. The answer is shown here as it comes.'),
    )
  }

  /** As high as its text, in browsers that do not do so by themselves. */
  #fit(): void {
    this.#body.rows = this.#body.value.split('\n').length
  }

  /** A stream by its events, or as it came. */
  #showWay(): void {
    const way = this.#ways.querySelector<HTMLInputElement>(':checked')?.value
    for (const view of this.#answer.querySelectorAll<HTMLElement>('[data-way]')) view.hidden = view.dataset.way !== way
  }

  #keep(): void {
    this.#drafts.keep({ name: this.#name, path: this.#path.value, body: this.#body.value })
  }

  async #start(): Promise<void> {
    const wrong = syntaxFault(this.#body.value)
    this.#fault.hidden = wrong === undefined
    this.#fault.textContent = wrong ? `${wrong.line === undefined ? '' : `Line ${wrong.line}: `}${wrong.message}` : ''
    if (wrong) return this.#body.focus()
    const aborter = new AbortController()
    this.#aborter = aborter
    this.#setBusy(true)
    const head = el('p', { class: 'muted' }, 'Waiting for the answer.')
    const reading = el('div', { class: 'reading' })
    const place = el('div', {})
    this.#answer.replaceChildren(head, reading, place)
    this.#ways.hidden = true
    showPanelOf(this.#answer)
    const began = performance.now()
    try {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: this.#body.value }
      const response = await ask(this.#path.value, { ...init, signal: aborter.signal })
      await this.#read(response, reading, place)
      head.textContent = `${response.status}, after ${milliseconds(performance.now() - began)}`
    } catch (error) {
      if (aborter.signal.aborted) head.textContent = 'Stopped.'
      else this.#answer.replaceChildren(failureView(error, () => void this.#start()))
    } finally {
      if (this.#aborter === aborter) this.#aborter = undefined
      this.#setBusy(this.#aborter !== undefined)
    }
  }

  async #read(response: Response, reading: HTMLElement, place: HTMLElement): Promise<void> {
    if (!response.body) return
    const isStream = /event-stream/.test(response.headers.get('content-type') ?? '')
    const text = el('pre', {
      class: 'code',
      tabindex: 0,
      'aria-label': 'Answer',
      ...(isStream && { 'data-way': 'raw' }),
    })
    const events = new StreamEventsView()
    events.element.dataset.way = 'events'
    place.append(...(isStream ? [events.element] : []), text)
    this.#ways.hidden = !isStream
    this.#showWay()
    const said = new Reader()
    const draw = framed(() => becomeAfter(reading, 0, readingView(said.reading)))
    let whole = ''
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await overNetwork(reader.read())
      if (done) break
      // Of a stream only what is new is read and drawn.
      if (!isStream) whole += value
      else {
        text.append(value)
        for (const { data } of events.take(value)) if (data) said.take(data)
        draw()
      }
    }
    if (isStream) return
    reading.replaceChildren(...readingView(readingOf(whole)))
    text.textContent = syntaxFault(whole) ? whole : readable(JSON.parse(whole))
  }

  #setBusy(busy: boolean): void {
    swap(busy, this.#send, this.#stop)
    this.#answer.setAttribute('aria-busy', String(busy))
  }
}

/** What it says, before how it says it. */
function readingView({ text, thought, calls, facts }: Reading): HTMLElement[] {
  return [
    ...(thought === '' ? [] : [el('p', { class: 'reading-thought' }, thought)]),
    ...(text === '' ? [] : [el('p', {}, text)]),
    ...calls.map((call) => el('p', { class: 'mono' }, call)),
    ...facts.map((fact) => el('p', {}, fact)),
  ]
}

const sampleOf = (slug: string | undefined): RequestSample | undefined =>
  requestSamples.find(({ name }) => slugOf(name) === slug)
