/** Decisions of a model that is made for them: one pass over questions, their options and the state, and no text. */

import {
  type DecideCall,
  type Decided,
  type DecisionForm,
  type TextTokens,
  V1Error,
  type VectorModel,
} from '../../contract/index.js'
import { inStage, inTurns, type Slices, softmax } from '../../platform/index.js'
import { meanShares, ordersOf, stateText } from '../decide/questions.js'
import { type Kind, QUESTION_KINDS, typedQuestionOf } from '../decide/typed-question.js'
import type { VectorLine } from '../run/line.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { clef, type JointReader } from './clef.js'
import { d1Omni } from './d1-omni.js'
import { layaReader, type QuestionReader } from './question-reader.js'

interface TextQuestions extends TextTokens {
  readonly questions: readonly QuestionInText[]
}

/** A question within a text, whose options have their scores there. */
interface QuestionInText {
  readonly question: number
  readonly kind: Kind
  readonly order: readonly number[]
  /** It is asked the other way round than it is told. */
  readonly turned: boolean
}

export class Decider {
  readonly #model: VectorModel
  readonly #form: DecisionForm
  readonly #reader: QuestionReader | undefined
  /** Of a model that decides all questions of a request together. */
  readonly #joint: JointReader | undefined

  constructor(model: VectorModel, tokenizer: Tokenizer, form: DecisionForm) {
    this.#model = model
    this.#form = form
    const { type, template, headTokens } = form
    if (type === 'clef') this.#joint = clef(template!, tokenizer)
    else this.#reader = type === 'laya' ? layaReader(tokenizer, template, headTokens) : d1Omni(template!, tokenizer)
  }

  async decide(call: DecideCall, line: VectorLine): Promise<Decided> {
    const { temperatures } = this.#form
    if (call.calibrated && Object.keys(temperatures).length === 0) {
      const message = "Invalid 'calibrated': this model has no fitted temperature. Leave it out."
      throw new V1Error(400, message, { param: 'calibrated', code: 'unsupported_value' })
    }
    const texts: TextQuestions[] = []
    const read = this.#joint ? this.#readTogether(this.#joint, call, texts) : this.#read(this.#reader!, call, texts)
    await inTurns(inStage('prompt', call.id, read), call.signal, call.caller)
    const scores = await line.run(texts, call.signal, call.caller)
    const each = texts.flatMap(({ questions }, text) => {
      let at = 0
      return questions.map(({ question, kind, order, turned }) => {
        const own = scores[text]!.subarray(at, at + order.length)
        at += order.length
        const shares = softmax(own, temperatureOf(temperatures, kind, order.length))
        if (turned) shares.reverse()
        return { question, shares: order.map((_, option) => shares[order.indexOf(option)]!) }
      })
    })
    const promptTokens = texts.reduce((sum, { tokens }) => sum + tokens.length, 0)
    return {
      answers: call.questions.map((_, question) => ({
        probabilities: meanShares(each.filter((one) => one.question === question).map(({ shares }) => shares)),
      })),
      usage: { promptTokens, completionTokens: 0, cachedTokens: 0 },
      fingerprint: this.#model.fingerprint,
    }
  }

  *#read(reader: QuestionReader, { questions, state, order: wanted }: DecideCall, out: TextQuestions[]): Slices<void> {
    const text = stateText(state)
    const { contextLength } = this.#model
    for (const [question, of] of questions.entries()) {
      for (const order of ordersOf(of, of.type === 'predicate' ? 'given' : wanted)) {
        const typed = typedQuestionOf(of, order, text)
        const { kind } = typed
        const { tokens, marks } = yield* reader.read(typed, contextLength, `questions[${question}]`)
        const types = tokens.map(() => QUESTION_KINDS.indexOf(kind))
        out.push({ questions: [{ question, kind, order, turned: kind === 'noul' }], tokens, marks, types })
        yield
      }
    }
  }

  /** Each time all questions, each in one of its orders. */
  *#readTogether(
    reader: JointReader,
    { questions, state, order: wanted }: DecideCall,
    out: TextQuestions[],
  ): Slices<void> {
    const text = stateText(state)
    const orders = questions.map((of) => reader.ordersOf(of, of.type === 'predicate' ? 'given' : wanted))
    const times = Math.max(...orders.map(({ length }) => length))
    for (let time = 0; time < times; time++) {
      const ordered = orders.map((each) => each[time % each.length]!)
      const all = questions.map((of, question) => typedQuestionOf(of, ordered[question]!, text))
      const { tokens, fields } = yield* reader.read(all, this.#model.contextLength)
      const inText = all.map(({ kind }, question) => ({ question, kind, order: ordered[question]!, turned: false }))
      out.push({ questions: inText, tokens, fields })
      yield
    }
  }
}

/** In the groups for which they were fitted. */
function temperatureOf(temperatures: DecisionForm['temperatures'], kind: Kind, options: number): number {
  const group = options <= 2 ? '2' : options <= 5 ? '3-5' : options <= 10 ? '6-10' : '11+'
  return Math.max(1e-3, temperatures[`${kind}:${group}`] ?? temperatures[kind] ?? 1)
}
