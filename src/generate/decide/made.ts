/**
 * Decoders that were made for decisions, as llama.cpp reads them: asked by the template that they carry, and read where
 * they were taught to answer, by how likely labels are (`labels.ts`) or by a head of their own (`pointers.ts`).
 */
import { type DecideCall, type Decided, type DecideQuestion, type Decision, V1Error } from '../../contract/index.js'
import { commonLength, inTurns, type Slices } from '../../platform/index.js'
import { type ChatText, encodedSections } from '../chat-text.js'
import { tooLong } from '../too-long.js'
import type { DecideParts } from './decide.js'
import { LabelReadout } from './labels.js'
import type { MadeForm } from './made-form.js'
import { PointerReadout } from './pointers.js'
import { meanOf, meanShares, ordersOf, stateText } from './questions.js'
import { readQuestions } from './reading.js'
import type { Readout, Reads } from './readout.js'
import { type QuestionLayout, type TypedQuestion, templateLayout, typedQuestionOf } from './typed-question.js'

interface MadeQuestion extends Reads {
  readonly question: number
  readonly order: readonly number[]
}

export class MadeDecider {
  readonly #form: MadeForm
  readonly #readout: Readout
  readonly #layout: QuestionLayout

  constructor(text: ChatText, form: MadeForm) {
    this.#form = form
    this.#readout =
      form.type === 'kev' ? new PointerReadout(text.tokenizer) : new LabelReadout(text.tokenizer, form.type)
    this.#layout = templateLayout(form.template, text.tokenizer, (sentinel) => text.guard(sentinel))
  }

  /** Its makers have fitted its temperatures: they are a part of it. */
  get calibrated(): boolean {
    return Object.keys(this.#form.temperatures).length > 0
  }

  async decide(call: DecideCall, parts: DecideParts): Promise<Decided> {
    call.questions.forEach((question, i) => {
      this.#assertOptions(question, i)
    })
    const text = stateText(call.state)
    const state = await inTurns(this.#stateOf(text, parts), call.signal, call.caller)
    const questions: MadeQuestion[] = []
    for (const [i, question] of call.questions.entries()) {
      const all = this.#inOrders(question, i, call.order, text, parts)
      for (const one of await inTurns(all, call.signal, call.caller)) questions.push(one)
    }
    // A token of each is left to be read.
    const least = (length: number, { of: { stem } }: MadeQuestion) =>
      commonLength(state, stem, Math.min(length, stem.length - 1))
    const shared = questions.reduce(least, state.length)
    const readables = questions.map(({ of }) => of)
    const found = await readQuestions(state.slice(0, shared), readables, parts, call)
    return {
      answers: call.questions.map((question, i) =>
        this.#answer(
          question,
          questions.filter((one) => one.question === i),
        ),
      ),
      usage: {
        promptTokens: readables.reduce((sum, { stem }) => sum + stem.length - shared, shared),
        completionTokens: 0,
        cachedTokens: found,
      },
      fingerprint: parts.model.fingerprint,
    }
  }

  #assertOptions({ options }: DecideQuestion, question: number): void {
    const { most } = this.#readout
    if (options.length <= most) return
    const message = `This model supports at most ${most} options, not ${options.length}.`
    const param = `questions[${question}]`
    throw new V1Error(400, `Invalid '${param}': ${message} Split them into several questions.`, {
      param,
      code: 'unsupported_value',
    })
  }

  /** The common beginning of two questions that share nothing else, and so of all questions. */
  *#stateOf(state: string, parts: DecideParts): Slices<readonly number[]> {
    const probe = (text: string, type: DecideQuestion['type']) => {
      const options = [{ text }, { text: `${text}${text}` }]
      const typed = typedQuestionOf({ type, name: text, instructions: text, options }, [0, 1], state)
      return this.#tokens(this.#readout.worded(typed), parts)
    }
    const [one, other] = [yield* probe('Which?', 'choice'), yield* probe('a', 'predicate')]
    return one.slice(0, commonLength(one, other, Math.min(one.length, other.length) - 1))
  }

  *#inOrders(
    question: DecideQuestion,
    index: number,
    wanted: DecideCall['order'],
    state: string,
    parts: DecideParts,
  ): Slices<MadeQuestion[]> {
    const found: MadeQuestion[] = []
    const given = wanted === 'given' || question.type === 'predicate'
    for (const order of given ? this.#readout.ordersOf(question) : ordersOf(question, wanted)) {
      const typed = this.#readout.worded(typedQuestionOf(question, order, state))
      const stem = yield* this.#tokens(typed, parts)
      if (stem.length > parts.capacity) throw tooLong(parts.capacity, stem.length)
      found.push({ question: index, order, ...this.#readout.reads(typed, stem) })
      yield
    }
    return found
  }

  *#tokens(question: TypedQuestion, { capacity, text }: DecideParts): Slices<number[]> {
    const { sections, reveal } = yield* this.#layout(question)
    return yield* encodedSections(text.tokenizer, sections, capacity, reveal)
  }

  #answer({ type, options }: DecideQuestion, orders: readonly MadeQuestion[]): Decision {
    const { temperatures } = this.#form
    const kind = type === 'predicate' ? 'noul' : type
    const temperature = temperatures[`${kind}.${this.#readout.group(options.length)}`] ?? temperatures[kind] ?? 1
    const each = orders.map(({ order, sharesAt }) => {
      const { shares, mass } = sharesAt(temperature)
      return { mass, shares: type === 'predicate' ? shares : order.map((_, i) => shares[order.indexOf(i)]!) }
    })
    const masses = each.flatMap(({ mass }) => mass ?? [])
    return {
      probabilities: meanShares(each.map(({ shares }) => shares)),
      ...(masses.length > 0 && { optionMass: Math.min(1, meanOf(masses)) }),
    }
  }
}
