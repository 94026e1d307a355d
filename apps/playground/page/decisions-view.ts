import { onExample, showsExample, slugOf, wantedExample } from './address.js'
import { ApiError, type DecisionAnswer, decide } from './api.js'
import { showCode } from './code-dialog.js'
import { copy } from './copy.js'
import { DecisionCard } from './decision-card.js'
import { decisionCode } from './decision-code.js'
import { type BodyQuestion, type DecisionBody, type DecisionDraft, questionOf } from './decision-draft.js'
import { decisionExamples } from './decision-examples.js'
import { announce, button, byId, el, swap } from './dom.js'
import { asideView, Drafts } from './drafts.js'
import { frameOf } from './embed.js'
import { failureView } from './failure-view.js'
import { milliseconds, whole } from './format.js'
import { linkWith } from './fragment.js'
import { setText } from './long-lines.js'
import { actionLabel, isNano } from './model-names.js'
import type { Models } from './models.js'
import { progressView } from './progress-view.js'
import { settings } from './settings.js'
import { packed, sharedDecisions } from './share.js'

/** Who types goes on typing within this. */
const PAUSE_MS = 250

interface Asked {
  readonly body: DecisionBody
  /** Who asks each of its questions. */
  readonly cards: readonly DecisionCard[]
}

/** A text and questions about it; how likely each option is, while both are being written. */
export class DecisionsView {
  readonly #models: Models
  readonly #panel = byId('decisions', HTMLElement)
  readonly #text = byId('decision-text', HTMLTextAreaElement)
  readonly #fault = byId('decision-text-fault', HTMLElement)
  readonly #average = byId('decision-average', HTMLInputElement)
  readonly #list = byId('decision-questions', HTMLElement)
  readonly #run = byId('decide', HTMLButtonElement)
  readonly #stop = byId('decide-stop', HTMLButtonElement)
  readonly #state = byId('decision-state', HTMLElement)
  readonly #drafts = new Drafts<DecisionDraft>('decisions')
  readonly #showAside: () => void
  #cards: DecisionCard[] = []
  #name = ''
  #aborter: AbortController | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** What the bars are of, or will be. */
  #sent = ''
  #announced = ''

  /** `shared` comes from a link, and stands before what was kept. */
  constructor(models: Models, shared?: DecisionDraft) {
    this.#models = models
    const chips = decisionExamples.map((example) =>
      button(
        example.name,
        () => {
          this.#replace(example)
          showsExample('decisions', example.name, true)
        },
        { class: 'chip', 'aria-pressed': 'false' },
      ),
    )
    onExample('decisions', (wanted) => {
      const example = exampleOf(wanted)
      if (example) this.#replace(example)
    })
    byId('decision-examples', HTMLElement).append(...chips)
    for (const field of [this.#text, this.#average]) field.addEventListener('input', () => this.#edited())
    byId('add-question', HTMLButtonElement).addEventListener('click', () => this.#addQuestion())
    this.#run.addEventListener('click', () => void this.#decideNow())
    this.#stop.addEventListener('click', () => this.#leave())
    byId('decision-code', HTMLButtonElement).addEventListener('click', () => this.#showCode())
    const share = byId('decision-share', HTMLButtonElement)
    share.addEventListener('click', () => void this.#share((link) => copy(link, share)))
    const embed = byId('decision-embed', HTMLButtonElement)
    embed.addEventListener('click', () => void this.#share((link) => copy(frameOf(link), embed)))
    this.#panel.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void this.#decideNow()
    })
    this.#panel.addEventListener('shown', () => this.#follow())
    models.onChange(() => this.#modelsChanged())
    const aside = byId('decisions-aside', HTMLElement)
    const focus = () => this.#text.focus()
    this.#showAside = asideView(aside, this.#drafts, (draft) => this.#show(draft), focus)
    const { current } = this.#drafts
    const wanted = exampleOf(wantedExample('decisions'))
    if (shared) this.#replace(shared)
    else if (wanted && current?.name !== wanted.name) this.#replace(wanted)
    else if (current) this.#show(current)
    else this.#replace(decisionExamples[0]!)
    this.#showAside()
    this.#modelsChanged()
  }

  #replace(draft: DecisionDraft): void {
    this.#drafts.replace(draft)
    this.#show(draft)
    this.#showAside()
  }

  #show({ name, text, questions, average }: DecisionDraft): void {
    this.#name = name
    setText(this.#text, text)
    this.#average.checked = average
    this.#cards = questions.map((question, i) => this.#card(question, i + 1))
    this.#place()
    for (const chip of byId('decision-examples', HTMLElement).children) {
      chip.setAttribute('aria-pressed', String(chip.textContent === name))
    }
    showsExample('decisions', name, false)
    this.#follow(0)
  }

  #card(question: DecisionDraft['questions'][number], number: number): DecisionCard {
    const card: DecisionCard = new DecisionCard(
      number,
      question,
      () => this.#edited(),
      () => this.#removeQuestion(card),
    )
    return card
  }

  #place(): void {
    this.#list.replaceChildren(...this.#cards.map(({ element }) => element))
  }

  #draft(): DecisionDraft {
    const questions = this.#cards.map(({ question }) => question)
    return { name: this.#name, text: this.#text.value, questions, average: this.#average.checked }
  }

  #edited(): void {
    this.#drafts.keep(this.#draft())
    this.#follow()
  }

  #addQuestion(): void {
    const card = this.#card({ kind: 'choice', text: '', options: ['', ''] }, this.#cards.length + 1)
    this.#cards.push(card)
    this.#list.append(card.element)
    card.focus()
  }

  /** Those behind it get its number. */
  #removeQuestion(card: DecisionCard): void {
    const rest = this.#cards.filter((each) => each !== card).map(({ question }) => question)
    this.#cards = rest.map((question, i) => this.#card(question, i + 1))
    this.#place()
    byId('add-question', HTMLButtonElement).focus()
    this.#sent = ''
    this.#edited()
  }

  /** What can be asked of it, and what is missing is said where it is missing. */
  #ask(): Asked | undefined {
    const input = this.#text.value
    const questions: BodyQuestion[] = []
    const cards: DecisionCard[] = []
    for (const card of this.#cards) {
      const question = questionOf(card.question)
      card.refuse(typeof question === 'string' ? question : undefined)
      if (typeof question === 'string') continue
      questions.push(question)
      cards.push(card)
    }
    this.#refuseText(input.trim() === '' ? 'Write a text to decide about.' : undefined)
    if (input.trim() === '' || questions.length === 0) return undefined
    const order = this.#average.checked ? { order: 'average' as const } : {}
    return { body: { model: this.#models.selected, input, ...order, questions }, cards }
  }

  #refuseText(message: string | undefined): void {
    this.#fault.hidden = message === undefined
    this.#fault.textContent = message ?? ''
    this.#text.setAttribute('aria-invalid', String(message !== undefined))
  }

  /** Asks once who types pauses, where the model is here already: nothing is downloaded for a letter. */
  #follow(pause = PAUSE_MS): void {
    clearTimeout(this.#timer)
    const request = this.#ask()
    const body = JSON.stringify(request?.body)
    if (body === this.#sent && request) return
    this.#aborter?.abort()
    this.#sent = ''
    if (!request || !this.#panel.checkVisibility() || !this.#models.current?.metadata?.loaded) {
      this.#blank()
      return
    }
    this.#list.dataset.stale = ''
    this.#timer = setTimeout(() => void this.#decide(request, false), pause)
  }

  /** Bars of another text or model would lie. */
  #blank(): void {
    delete this.#list.dataset.stale
    for (const card of this.#cards) card.show(undefined)
    this.#state.replaceChildren()
  }

  async #decideNow(): Promise<void> {
    clearTimeout(this.#timer)
    this.#aborter?.abort()
    const request = this.#ask()
    if (!request) return this.#panel.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
    swap(true, this.#run, this.#stop)
    await this.#decide(request, true)
  }

  async #decide({ body, cards }: Asked, pressed: boolean): Promise<void> {
    const aborter = new AbortController()
    this.#aborter = aborter
    this.#sent = JSON.stringify(body)
    this.#list.setAttribute('aria-busy', 'true')
    try {
      if (pressed) await this.#models.loadForRequest()
      if (aborter.signal.aborted) return
      const began = performance.now()
      const { answers, usage } = await decide(body, settings().project, aborter.signal)
      const took = milliseconds(performance.now() - began)
      const read = usage.input_tokens_details.cached_tokens
      const known = read > 0 ? `, ${whole(read)} of them from the cache` : ''
      for (const [i, answer] of answers.entries()) cards[i]!.show(answer)
      this.#state.replaceChildren(
        el(
          'p',
          { class: 'muted' },
          `Decided in ${took}: ${whole(usage.input_tokens)} tokens read${known}, none written.`,
        ),
      )
      this.#announce(cards, answers, pressed)
    } catch (error) {
      if (!aborter.signal.aborted) this.#fail(error, cards)
    } finally {
      if (this.#aborter === aborter) {
        this.#aborter = undefined
        delete this.#list.dataset.stale
        this.#list.setAttribute('aria-busy', 'false')
        swap(false, this.#run, this.#stop)
      }
    }
  }

  /** Who types is told of what has changed, not of each letter's figures. */
  #announce(cards: readonly DecisionCard[], answers: readonly DecisionAnswer[], pressed: boolean): void {
    const gists = answers.map((answer, i) => cards[i]!.gist(answer)).join('; ')
    const chosen = gists.replace(/, [<>]?[\d.]+ %/g, '')
    if (pressed || chosen !== this.#announced) announce(gists)
    this.#announced = chosen
  }

  #fail(error: unknown, cards: readonly DecisionCard[]): void {
    for (const card of this.#cards) card.show(undefined)
    this.#state.replaceChildren()
    const param = error instanceof ApiError ? error.param : null
    const message = error instanceof Error ? error.message : String(error)
    const [, at] = /^questions\[(\d+)\]/.exec(param ?? '') ?? []
    if (at !== undefined && cards[Number(at)]) cards[Number(at)]!.refuse(message)
    else if (param === 'input') this.#refuseText(message)
    else this.#state.replaceChildren(failureView(error, () => void this.#decideNow()))
  }

  #leave(): void {
    this.#aborter?.abort()
    const { selected, loads } = this.#models
    if (loads.has(selected)) void this.#models.unload(selected).catch(() => {})
    this.#aborter = undefined
    this.#sent = ''
    this.#blank()
    swap(false, this.#run, this.#stop)
  }

  #modelsChanged(): void {
    const { selected, loads } = this.#models
    this.#run.textContent = actionLabel(this.#models, 'Decide')
    byId('decision-nano', HTMLElement).hidden = !isNano(selected)
    const load = this.#stop.hidden ? undefined : loads.get(selected)
    if (load) this.#state.replaceChildren(progressView(load))
    // While a pressed button loads it, that one asks.
    else if (this.#stop.hidden) this.#follow()
  }

  /** Only what can be answered is sent on. */
  async #share(give: (link: string) => Promise<void>): Promise<void> {
    if (this.#ask()) await give(linkWith('decisions', await packed(sharedDecisions(this.#draft()))))
    else this.#panel.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }

  #showCode(): void {
    const request = this.#ask()
    if (request) showCode((place) => decisionCode(request.body, place))
    else this.#panel.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }
}

const exampleOf = (slug: string | undefined): DecisionDraft | undefined =>
  decisionExamples.find(({ name }) => slugOf(name) === slug)
