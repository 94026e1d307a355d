/** Decisions of a model that is made for them: one pass over a question, its options and the state, and no text. */
import { askedOf, KINDS, type Kind } from '../decode/decide/asked.js'
import { meanShares, ordersOf, stateText } from '../decode/decide/questions.js'
import type { Tokenizer } from '../decode/tokenizer/tokenizer.js'
import type { DecideCall, Decided } from '../engine.js'
import { V1Error } from '../errors.js'
import { inStage } from '../platform/pulse.js'
import type { Slices } from '../platform/slices.js'
import { inTurns } from '../platform/turns.js'
import { layaReader, type QuestionReader } from './asked.js'
import { d1Omni } from './d1-omni.js'
import type { VectorLine } from './line.js'
import type { DecisionForm, TextTokens, VectorModel } from './vector-model.js'

interface AskedTokens extends TextTokens {
  readonly question: number
  readonly kind: Kind
  readonly order: readonly number[]
}

export class Decider {
  readonly #model: VectorModel
  readonly #form: DecisionForm
  readonly #reader: QuestionReader

  constructor(model: VectorModel, tokenizer: Tokenizer, form: DecisionForm) {
    this.#model = model
    this.#form = form
    const { type, template, headTokens } = form
    this.#reader = type === 'laya' ? layaReader(tokenizer, template, headTokens) : d1Omni(template!, tokenizer)
  }

  async decide(call: DecideCall, line: VectorLine): Promise<Decided> {
    const { temperatures } = this.#form
    if (call.calibrated && Object.keys(temperatures).length === 0) {
      const message = "Invalid 'calibrated': this model has no fitted temperature. Leave it out."
      throw new V1Error(400, message, { param: 'calibrated', code: 'unsupported_value' })
    }
    const asked: AskedTokens[] = []
    const read = this.#read(call, asked)
    await inTurns(inStage('prompt', call.id, read), call.signal, call.caller)
    const scores = await line.run(asked, call.signal, call.caller)
    const each = asked.map(({ kind, order }, i) => {
      const shares = softmax(scores[i]!, temperatureOf(temperatures, kind, order.length))
      // What is asked the other way round is told as it was asked for.
      const turned = kind === 'noul' ? shares.reverse() : shares
      return order.map((_, option) => turned[order.indexOf(option)]!)
    })
    const promptTokens = asked.reduce((sum, { tokens }) => sum + tokens.length, 0)
    return {
      answers: call.questions.map((_, question) => ({
        probabilities: meanShares(each.filter((_, i) => asked[i]!.question === question)),
      })),
      usage: { promptTokens, completionTokens: 0, cachedTokens: 0 },
      fingerprint: this.#model.fingerprint,
    }
  }

  *#read({ questions, state, order: wanted }: DecideCall, out: AskedTokens[]): Slices<void> {
    const told = stateText(state)
    const { contextLength } = this.#model
    for (const [question, of] of questions.entries()) {
      for (const order of ordersOf(of, of.type === 'predicate' ? 'given' : wanted)) {
        const asked = askedOf(of, order, told)
        const { tokens, marks } = yield* this.#reader.read(asked, contextLength, `questions[${question}]`)
        const types = tokens.map(() => KINDS.indexOf(asked.kind))
        out.push({ question, kind: asked.kind, order, tokens, marks, types })
        yield
      }
    }
  }
}

/** In the groups for which they were fitted. */
function temperatureOf(temperatures: DecisionForm['temperatures'], kind: Kind, options: number): number {
  const group = options <= 2 ? '2' : options <= 5 ? '3-5' : options <= 10 ? '6-10' : '11+'
  return Math.max(1e-3, temperatures[`${kind}:${group}`] ?? temperatures[kind] ?? 1)
}

function softmax(scores: ArrayLike<number>, temperature: number): number[] {
  const all = Array.from(scores)
  const most = Math.max(...all)
  const shares = all.map((score) => Math.exp((score - most) / temperature))
  const sum = shares.reduce((total, share) => total + share, 0)
  return shares.map((share) => share / sum)
}
