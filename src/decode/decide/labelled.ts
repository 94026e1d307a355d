/**
 * Decoders that were made for decisions, as llama.cpp reads them: each option has a label of one token, and the question
 * is answered by how likely each label is where the answer would begin.
 */
import type { DecideCall, Decided, DecideQuestion } from '../../engine.js'
import { V1Error } from '../../errors.js'
import type { Slices } from '../../platform/slices.js'
import { inTurns } from '../../platform/turns.js'
import { commonLength } from '../../structured/tokens/forced.js'
import type { ChatText } from '../chat-text.js'
import { tooLong } from '../too-long.js'
import { askedOf, type QuestionLayout, type TypedQuestion, templateLayout } from './asked.js'
import { type DecideParts, sharesOf } from './decide.js'
import { meanOf, meanShares, ordersOf, stateText } from './questions.js'
import { readQuestions } from './reading.js'
import { tempered } from './temperature.js'
import { OptionTrie } from './trie.js'

/** What the files of such a model say of it. */
export interface LabelForm {
  readonly type: LabelType
  /** How a question is put to it. */
  readonly template: string
  /** By which scores are divided: for each kind of question, or for a kind and so many options (`choice.small`). */
  readonly temperatures: Readonly<Record<string, number>>
}

export const LABEL_TYPES = ['openjev', 'lev'] as const
export type LabelType = (typeof LABEL_TYPES)[number]

interface Labelling {
  /** In the order in which options get them. */
  readonly codes: readonly string[]
  /** Whether a code of more than one token is passed over, and the template told which label an option has. */
  readonly chosen: boolean
  /** Of a predicate, that it is so comes first. */
  readonly yesFirst: boolean
  /** A predicate is answered on a scale of so many: from certainly not to certainly so. */
  readonly ratings?: number
  /** A choice is asked in its order and in the reverse of it. */
  readonly bothWays: boolean
  /** How temperatures are told apart by the number of options. */
  group(options: number): string
}

const CAPITALS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
/** As many as any form of the request may ask for. */
const MOST_LABELS = 255

const LABELLINGS: Readonly<Record<LabelType, Labelling>> = {
  openjev: {
    codes: [...CAPITALS, ...CAPITALS.map((letter) => letter.toLowerCase())],
    chosen: false,
    yesFirst: true,
    bothWays: false,
    group: (options) => (options <= 2 ? '2' : options <= 5 ? '3_5' : options <= 10 ? '6_10' : '11'),
  },
  lev: {
    codes: [...CAPITALS, ...CAPITALS.flatMap((one) => CAPITALS.map((other) => one + other))],
    chosen: true,
    yesFirst: false,
    ratings: 9,
    bothWays: true,
    group: (options) => (options <= 8 ? 'small' : options <= 26 ? 'mid' : 'large'),
  },
}

interface LabelledQuestion {
  readonly question: number
  readonly order: readonly number[]
  readonly stem: readonly number[]
  readonly trie: OptionTrie
}

export class LabelDecider {
  readonly #form: LabelForm
  readonly #labelling: Labelling
  readonly #labels: readonly { readonly code: string; readonly token: number }[]
  readonly #layout: QuestionLayout

  constructor(text: ChatText, form: LabelForm) {
    this.#form = form
    this.#labelling = LABELLINGS[form.type]
    this.#labels = labelsOf(text, this.#labelling)
    this.#layout = templateLayout(form.template, text.tokenizer, (sentinel) => text.guard(sentinel))
  }

  /** Its makers have fitted its temperatures: they are a part of it. */
  get calibrated(): boolean {
    return Object.keys(this.#form.temperatures).length > 0
  }

  async decide(call: DecideCall, parts: DecideParts): Promise<Decided> {
    call.questions.forEach((question, i) => {
      this.#assertLabels(question, i)
    })
    const told = stateText(call.state)
    const state = await inTurns(this.#stateOf(told, parts), call.signal, call.caller)
    const asked: LabelledQuestion[] = []
    for (const [i, question] of call.questions.entries()) {
      const all = this.#asked(question, i, call.order, told, parts)
      for (const one of await inTurns(all, call.signal, call.caller)) asked.push(one)
    }
    // A token of each is left to be read.
    const least = (length: number, { stem }: LabelledQuestion) =>
      commonLength(state, stem, Math.min(length, stem.length - 1))
    const shared = asked.reduce(least, state.length)
    const found = await readQuestions(state.slice(0, shared), asked, parts, call)
    return {
      answers: call.questions.map((question, i) =>
        this.#answer(
          question,
          asked.filter((one) => one.question === i),
        ),
      ),
      usage: {
        promptTokens: asked.reduce((sum, { stem }) => sum + stem.length - shared, shared),
        completionTokens: 0,
        cachedTokens: found,
      },
      fingerprint: parts.model.fingerprint,
    }
  }

  #assertLabels({ options }: DecideQuestion, question: number): void {
    if (options.length <= this.#labels.length) return
    const most = `This model tells ${this.#labels.length} options apart, not ${options.length}.`
    const param = `questions[${question}]`
    throw new V1Error(400, `Invalid '${param}': ${most} Ask about fewer, in several questions.`, {
      param,
      code: 'unsupported_value',
    })
  }

  /** What two questions that have nothing in common begin with, whatever else is asked. */
  *#stateOf(state: string, parts: DecideParts): Slices<readonly number[]> {
    const probe = (text: string, kind: TypedQuestion['kind']) =>
      this.#tokens({ kind, instructions: text, state, options: [{ key: text }, { key: `${text}${text}` }] }, parts)
    const [one, other] = [yield* probe('Which?', 'choice'), yield* probe('a', 'noul')]
    return one.slice(0, commonLength(one, other, Math.min(one.length, other.length) - 1))
  }

  *#asked(
    question: DecideQuestion,
    index: number,
    wanted: DecideCall['order'],
    state: string,
    parts: DecideParts,
  ): Slices<LabelledQuestion[]> {
    const found: LabelledQuestion[] = []
    const rates = question.type === 'predicate' ? this.#labelling.ratings : undefined
    for (const order of this.#ordersOf(question, wanted)) {
      const stem = yield* this.#tokens(askedOf(question, order, state), parts)
      if (stem.length > parts.capacity) throw tooLong(parts.capacity, stem.length)
      const labels = this.#labels.slice(0, rates ?? question.options.length)
      const options = labels.map(({ token }) => [token])
      found.push({ question: index, order, stem, trie: new OptionTrie(options, []) })
      yield
    }
    return found
  }

  #ordersOf(question: DecideQuestion, wanted: DecideCall['order']): readonly (readonly number[])[] {
    if (question.type === 'predicate') return ordersOf(question, 'given')
    const orders = ordersOf(question, wanted)
    const both = wanted === 'given' && question.type === 'choice' && question.options.length > 1
    return both && this.#labelling.bothWays ? [orders[0]!, [...orders[0]!].reverse()] : orders
  }

  *#tokens(asked: TypedQuestion, { capacity, text }: DecideParts): Slices<number[]> {
    const { yesFirst, chosen } = this.#labelling
    const options = asked.kind === 'noul' && yesFirst ? [...asked.options].reverse() : asked.options
    const labelled = chosen ? options.map((each, i) => ({ ...each, label: this.#labels[i]!.code })) : options
    const { sections, reveal } = yield* this.#layout({ ...asked, options: labelled })
    return yield* text.encodedSections(sections, capacity, reveal)
  }

  #answer(question: DecideQuestion, asked: readonly LabelledQuestion[]) {
    const { type } = question
    const temperature = this.#temperatureOf(type === 'predicate' ? 'noul' : type, question.options.length)
    const each = asked.map(({ trie, order }) => {
      const { probabilities, mass } = sharesOf(trie)
      const shares = tempered(probabilities, temperature)
      return {
        mass,
        shares: type === 'predicate' ? this.#sides(shares) : order.map((_, i) => shares[order.indexOf(i)]!),
      }
    })
    return {
      probabilities: meanShares(each.map(({ shares }) => shares)),
      optionMass: Math.min(1, meanOf(each.map(({ mass }) => mass))),
    }
  }

  /** That it is so, and that it is not. */
  #sides(shares: readonly number[]): readonly number[] {
    const { ratings, yesFirst } = this.#labelling
    if (ratings === undefined) return yesFirst ? shares : [...shares].reverse()
    const so = shares.reduce((sum, share, i) => sum + (share * i) / (ratings - 1), 0)
    return [so, 1 - so]
  }

  #temperatureOf(kind: TypedQuestion['kind'], options: number): number {
    const { temperatures } = this.#form
    return temperatures[`${kind}.${this.#labelling.group(options)}`] ?? temperatures[kind] ?? 1
  }
}

function labelsOf({ tokenizer }: ChatText, { codes, chosen }: Labelling) {
  const labels: { code: string; token: number }[] = []
  for (const code of codes) {
    const [token, ...more] = tokenizer.encodeContinuation(code)
    if (token !== undefined && more.length === 0) labels.push({ code, token })
    else if (!chosen) {
      const message = `This model answers by letters, of which its tokenizer has no token for "${code}".`
      throw new V1Error(500, message, { code: 'model_files', headers: { 'x-should-retry': 'false' } })
    }
  }
  return labels.slice(0, MOST_LABELS)
}
