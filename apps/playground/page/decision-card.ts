import type { DecisionAnswer } from './api.js'
import { type DecisionKind, type DraftQuestion, KINDS, optionOf } from './decision-draft.js'
import { button, el } from './dom.js'
import { likelihood } from './format.js'

const LABELS: Readonly<Record<DecisionKind, string>> = {
  predicate: 'True or false',
  choice: 'One of these',
  score: 'On a scale',
}
const TRUTH = ['true', 'false'] as const
/** Below it, what was chosen is a guess among things that the model would not say. */
const LITTLE_MASS = 0.01

interface Row {
  readonly element: HTMLElement
  readonly input: HTMLTextAreaElement | undefined
  readonly bar: HTMLElement
  readonly share: HTMLElement
}

/** One question: what is asked, and a bar for each option that tells how likely it is. Bars stay while one types. */
export class DecisionCard {
  readonly element = el('li', { class: 'question' })
  readonly #number: number
  readonly #text: HTMLTextAreaElement
  readonly #kind: HTMLSelectElement
  readonly #list = el('ul', { class: 'options' })
  readonly #add: HTMLButtonElement
  readonly #says = el('p', { class: 'decided' })
  readonly #fault: HTMLElement
  readonly #onChange: () => void
  #rows: Row[] = []

  constructor(number: number, question: DraftQuestion, onChange: () => void, onRemove: () => void) {
    this.#number = number
    this.#onChange = onChange
    const faultId = `question-${number}-fault`
    this.#fault = el('p', { class: 'field-error', id: faultId, hidden: true })
    this.#text = oneLine(question.text, { id: `question-${number}`, 'aria-describedby': faultId })
    this.#text.addEventListener('input', onChange)
    this.#text.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') event.preventDefault()
    })
    const options = KINDS.map((value) => el('option', { value }, LABELS[value]))
    this.#kind = el('select', { 'aria-label': `Answer of question ${number}` }, ...options)
    this.#kind.value = question.kind
    this.#kind.addEventListener('change', () => {
      this.#draw(this.#written())
      onChange()
    })
    const remove = button('×', onRemove, { class: 'quiet icon', 'aria-label': `Remove question ${number}` })
    this.#add = button('Add an option', () => this.#insert(this.#rows.length), { class: 'quiet small' })
    const label = el('label', { for: `question-${number}` }, `Question ${number}`)
    this.element.append(
      el('div', { class: 'question-head' }, label, this.#kind, remove),
      this.#text,
      this.#list,
      this.#add,
      this.#fault,
      this.#says,
    )
    this.#draw(question.options)
  }

  get question(): DraftQuestion {
    const kind = this.#kind.value as DecisionKind
    return { kind, text: this.#text.value, options: kind === 'predicate' ? [] : this.#written() }
  }

  focus(): void {
    this.#text.focus()
  }

  /** What keeps it from being asked. */
  refuse(message: string | undefined): void {
    this.#fault.hidden = message === undefined
    this.#fault.textContent = message ?? ''
    this.#text.setAttribute('aria-invalid', String(message !== undefined))
    if (message !== undefined) this.show(undefined)
  }

  /** Undefined: not decided yet. */
  show(answer: DecisionAnswer | undefined): void {
    const shares = this.#sharesOf(answer)
    const best = shares && likeliest(shares)
    this.#rows.forEach(({ element, bar, share }, i) => {
      const probability = shares?.[i]
      // Set as a property: a strict policy forbids style attributes in markup.
      bar.style.width = `${(probability ?? 0) * 100}%`
      share.textContent = probability === undefined ? '–' : likelihood(probability)
      element.classList.toggle('likeliest', probability !== undefined && probability === best)
    })
    this.#says.replaceChildren(...(answer ? saidOf(answer) : []))
  }

  /** In a few words, for who does not see bars. */
  gist(answer: DecisionAnswer): string {
    const shares = this.#sharesOf(answer)
    if (!shares) return `Question ${this.#number}: refused`
    const best = likeliest(shares)
    return `Question ${this.#number}: ${this.#nameOf(shares.indexOf(best))}, ${likelihood(best)}`
  }

  /** Of each row, one that is empty has none. */
  #sharesOf(answer: DecisionAnswer | undefined): (number | undefined)[] | undefined {
    if (!answer || answer.type === 'refusal') return undefined
    if (answer.type === 'predicate') return [answer.probability, 1 - answer.probability]
    const probabilities = answer.probabilities.map(({ probability }) => probability)
    let next = 0
    return this.#rows.map((_, i) => (this.#nameOf(i) === '' ? undefined : probabilities[next++]))
  }

  #nameOf(row: number): string {
    return this.#rows[row]?.input ? optionOf(this.#rows[row].input.value).name : (TRUTH[row] ?? '')
  }

  #written(): string[] {
    return this.#rows.flatMap(({ input }) => (input ? [input.value] : []))
  }

  #draw(written: readonly string[]): void {
    const fixed = this.#kind.value === 'predicate'
    this.#text.placeholder = fixed ? 'It is urgent.' : 'What is it about?'
    this.#add.hidden = fixed
    this.#rows = fixed
      ? TRUTH.map((word) => this.#row(word, undefined))
      : (written.length === 0 ? ['', ''] : written).map((text) => this.#row(undefined, text))
    this.#place()
  }

  /** Numbers of options change as some come and go. */
  #place(): void {
    const level = this.#kind.value === 'score'
    this.#add.textContent = level ? 'Add a level' : 'Add an option'
    this.#rows.forEach(({ input, element }, i) => {
      const name = `${level ? 'Level' : 'Option'} ${i + 1} of question ${this.#number}`
      input?.setAttribute('aria-label', name)
      const lowest = this.#rows.length - 1 === i ? 'the highest' : ''
      if (input) input.placeholder = level ? (i === 0 ? 'the lowest' : lowest) : `option ${i + 1}`
      element.querySelector('button')?.setAttribute('aria-label', `Remove ${name.toLowerCase()}`)
    })
    this.#list.replaceChildren(...this.#rows.map(({ element }) => element))
  }

  #row(word: string | undefined, text: string | undefined): Row {
    const bar = el('span', { class: 'option-bar' })
    const share = el('span', { class: 'option-share' }, '–')
    const track = el('span', { class: 'option-track', 'aria-hidden': 'true' }, bar)
    if (text === undefined) {
      const element = el('li', { class: 'option fixed' }, el('span', { class: 'option-name' }, word), track, share)
      return { element, input: undefined, bar, share }
    }
    const input = oneLine(text, { spellcheck: 'false', autocapitalize: 'off' })
    const remove = button('×', () => this.#remove(row), { class: 'quiet icon' })
    const row = { element: el('li', { class: 'option' }, input, track, share, remove), input, bar, share }
    input.addEventListener('input', this.#onChange)
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return
      event.preventDefault()
      if (!event.ctrlKey && !event.metaKey) this.#insert(this.#rows.indexOf(row) + 1)
    })
    return row
  }

  #insert(at: number): void {
    this.#rows.splice(at, 0, this.#row(undefined, ''))
    this.#place()
    this.#rows[at]?.input?.focus()
  }

  #remove(row: Row): void {
    const at = this.#rows.indexOf(row)
    this.#rows = this.#rows.filter((each) => each !== row)
    this.#place()
    const next = this.#rows[Math.min(at, this.#rows.length - 1)]?.input ?? this.#add
    next.focus()
    this.#onChange()
  }
}

/** A field for one line that is as high as its text: a long option is read whole on a phone, too. */
function oneLine(text: string, attributes: Parameters<typeof el>[1]): HTMLTextAreaElement {
  const area = el('textarea', { rows: 1, class: 'one-line', autocomplete: 'off', ...attributes })
  area.value = text
  if (CSS.supports('field-sizing', 'content')) return area
  const grow = () => {
    area.style.height = 'auto'
    area.style.height = `${area.scrollHeight + 2}px`
  }
  area.addEventListener('input', grow)
  // Its width comes with its place, and changes with the window.
  let width = 0
  new ResizeObserver(([seen]) => {
    if (seen!.contentRect.width === width) return
    width = seen!.contentRect.width
    grow()
  }).observe(area)
  return area
}

/** The largest share; rows that are empty have none. */
function likeliest(shares: readonly (number | undefined)[]): number {
  return Math.max(...shares.filter((share) => share !== undefined))
}

function saidOf(answer: DecisionAnswer): (Node | string)[] {
  if (answer.type === 'refusal') return ['The model refused to answer this question.']
  const facts = [
    ...(answer.type === 'score' ? [`Score ${answer.score.toFixed(2)} of 0 to ${answer.probabilities.length - 1}`] : []),
    ...(answer.type === 'predicate' ? [] : [`confidence ${likelihood(answer.confidence)}`]),
    ...(answer.option_mass === undefined ? [] : [`option mass ${likelihood(answer.option_mass)}`]),
  ].join(' · ')
  const guess =
    answer.option_mass !== undefined && answer.option_mass < LITTLE_MASS
      ? el('span', { class: 'guess' }, 'A guess: the model would rather have said something else.')
      : undefined
  return [el('span', {}, facts.charAt(0).toUpperCase() + facts.slice(1)), ...(guess ? [guess] : [])]
}
