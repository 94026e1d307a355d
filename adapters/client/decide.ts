import { V1Error } from '../../src/contract/errors.js'
import { askJson, endpointOf, firstModel, inOtherWords, type Target } from './endpoint.js'

/** How likely is a statement true? */
export interface PredicateQuestion {
  readonly type: 'predicate'
  readonly instructions: string
}

/** Which of these (2 to 255)? `description` says what one means. */
export interface ChoiceQuestion {
  readonly type: 'choice'
  readonly instructions: string
  readonly choices: readonly (string | { readonly value: string; readonly description?: string })[]
}

/** How much, on levels from the lowest to the highest? */
export interface ScoreQuestion {
  readonly type: 'score'
  readonly instructions: string
  readonly levels: readonly (string | { readonly label: string; readonly description?: string })[]
}

export type Questions = Readonly<Record<string, PredicateQuestion | ChoiceQuestion | ScoreQuestion>>

/** The probability that the model gives to all options together, if the service returns it. */
interface Mass {
  readonly optionMass?: number
}

export interface PredicateAnswer extends Mass {
  readonly type: 'predicate'
  readonly probability: number
}

export interface ChoiceAnswer<Choice extends string = string> extends Mass {
  readonly type: 'choice'
  /** The most likely one. */
  readonly choice: Choice
  /** How far it is above chance: 0 to 1. */
  readonly confidence: number
  readonly probabilities: Readonly<Record<Choice, number>>
}

export interface ScoreAnswer<Level extends string = string> extends Mass {
  readonly type: 'score'
  /** The mean of the levels' numbers, from 0. */
  readonly score: number
  readonly confidence: number
  readonly probabilities: Readonly<Record<Level, number>>
}

/** The answers, by the names of the questions. */
export type Answers<Q extends Questions> = { readonly [Name in keyof Q]: AnswerOf<Q[Name]> }

type AnswerOf<Q> = Q extends { readonly choices: readonly (infer Each)[] }
  ? ChoiceAnswer<TextOf<Each>>
  : Q extends { readonly levels: readonly (infer Each)[] }
    ? ScoreAnswer<TextOf<Each>>
    : PredicateAnswer

type TextOf<Each> = Each extends string
  ? Each
  : Each extends { readonly value: infer Text extends string } | { readonly label: infer Text extends string }
    ? Text
    : never

export interface DecideOptions {
  /** What answers: a service of `createV1`, the result of `install`, or `{ baseURL }` of any `/v1` with `/decisions`. */
  readonly from: Target
  /** @default the first model of `from` that can decide, else its first */
  readonly model?: string
  /**
   * `average` asks with several orders of the options and returns the mean.
   * @default 'given'
   */
  readonly order?: 'given' | 'average'
  /**
   * How much a reasoning model thinks about the state first.
   * @default 'none'
   */
  readonly effort?: 'none' | 'low' | 'medium' | 'high'
  /**
   * Whether to use the temperature that was fitted for the model.
   * @default as the service is set
   */
  readonly calibrated?: boolean
  /** Stops the request. */
  readonly signal?: AbortSignal
}

/**
 * Answers typed questions about a state with probabilities; the model generates nothing. The state is a text, an object,
 * or a list of messages. If the model refuses one of the questions, the call throws an error that names it.
 *
 * ```ts
 * const { team } = await decide(
 *   { team: { type: 'choice', instructions: 'Who helps?', choices: ['billing', 'tech'] } },
 *   mail,
 *   { from: v1 },
 * )
 * ```
 */
export async function decide<const Q extends Questions>(
  questions: Q,
  state: string | object,
  { from, model, order, effort, calibrated, signal }: DecideOptions,
): Promise<Answers<Q>> {
  const endpoint = endpointOf(from)
  const id = model ?? (await firstModel(endpoint, signal, ({ capabilities }) => capabilities?.decisions === true))
  const names = Object.keys(questions)
  const body = {
    model: id,
    input: inputOf(state),
    questions: names.map((name) => wireQuestion(name, questions[name]!)),
    ...(order && { order }),
    ...(effort && { reasoning: { effort } }),
    ...(calibrated !== undefined && { calibrated }),
  }
  const asked = askJson<{ answers?: WireAnswer[] }>(endpoint, '/decisions', { body, signal })
  const { answers } = await asked.catch((error: unknown) => {
    throw inOtherWords(error, byName(names))
  })
  return Object.fromEntries(
    names.map((name, i) => [name, answerOf(name, questions[name]!.type, answers?.[i])]),
  ) as Answers<Q>
}

/** What is said of a question by its number, by its name. */
const byName = (names: readonly string[]) => (text: string) =>
  text.replace(/\bquestions\[(\d+)\]/g, (place, index) => {
    const name = names[Number(index)]
    return name === undefined ? place : `questions.${name}`
  })

const inputOf = (state: string | object): unknown =>
  typeof state === 'string' || Array.isArray(state)
    ? state
    : [{ role: 'user', content: [{ type: 'input_json', data: state }] }]

function wireQuestion(name: string, question: Questions[string]): object {
  const { type, instructions } = question
  const common = { type, name, instructions }
  // What is no list is the service's to refuse, with the name of the field.
  if (type === 'choice') return { ...common, choices: each(question.choices, 'value') }
  if (type === 'score') return { ...common, levels: each(question.levels, 'label') }
  return common
}

const each = (options: readonly (string | object)[], field: 'value' | 'label'): unknown =>
  Array.isArray(options)
    ? options.map((option: string | object) => (typeof option === 'string' ? { [field]: option } : option))
    : options

interface WireAnswer {
  readonly type: string
  readonly probability?: number
  readonly choice?: string
  readonly score?: number
  readonly confidence?: number
  readonly probabilities?: readonly { readonly value: string; readonly label?: string; readonly probability: number }[]
  readonly option_mass?: number
}

function answerOf(name: string, type: string, answer: WireAnswer | undefined): object {
  if (answer?.type === 'refusal') {
    throw new V1Error(502, `The model refused the question '${name}'.`, { code: 'refused', param: name })
  }
  if (answer?.type !== type) {
    throw new V1Error(502, `The question '${name}' was not answered.`, { code: 'invalid_output', param: name })
  }
  const { option_mass: optionMass, probabilities, ...fields } = answer
  const mass = optionMass === undefined ? {} : { optionMass }
  if (type === 'predicate') return { type, probability: fields.probability, ...mass }
  const likely = (probabilities ?? []).map(({ value, label = value, probability }) => [label, probability] as const)
  return {
    type,
    ...(type === 'choice' ? { choice: fields.choice } : { score: fields.score }),
    confidence: fields.confidence,
    probabilities: Object.fromEntries(likely),
    ...mass,
  }
}
