/** Decisions in TypeSafe's form, which Ollama, vLLM and llama.cpp have. */

import {
  type Content,
  type DecideCall,
  type Decided,
  type DecideOption,
  type DecideQuestion,
  type Decision,
  textOf,
  V1Error,
} from '../../contract/index.js'
import { stateText } from '../../generate/index.js'
import { decisionFrom, temperatureOf, thoughtOf, usageOf } from './decisions.js'
import { brokenService, parsed } from './sent.js'

/** The most levels that a score has there. */
const MOST_LEVELS = 10

/** Names of questions are ours: in the call they have none. */
const questionName = (index: number): string => `q${index}`

export function systemOneBody({ state, questions, ...call }: DecideCall, model: string): Record<string, unknown> {
  const images = typeof state === 'string' ? [] : state.flatMap(({ content }) => imagesOf(content))
  return {
    model,
    state: stateText(state),
    questions: Object.fromEntries(questions.map((question, i) => [questionName(i), wireQuestion(question)])),
    ...(images.length > 0 && { images }),
    ...(call.order === 'average' && { order: call.order }),
    ...(call.calibrated && { calibrated: true }),
    ...thoughtOf(call),
  }
}

/** As Ollama takes them: without what says that they are base64. */
function imagesOf(content: Content): string[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => {
    if (part.type === 'text') return []
    const [, data] = part.type === 'image' ? (/^data:[^,]*;base64,(.*)$/s.exec(part.url) ?? []) : []
    if (data !== undefined) return [data]
    const message = 'The upstream service accepts images only as data: addresses in base64.'
    throw new V1Error(400, message, { param: 'input' })
  })
}

function wireQuestion(question: DecideQuestion): object {
  const { type, options } = question
  if (imagesOf(question.instructions).length > 0) {
    const message = 'The upstream service accepts images only in the state: leave them out of questions.'
    throw new V1Error(400, message, { param: 'questions' })
  }
  const instructions = textOf(question.instructions)
  const described = ({ description }: DecideOption) => description ?? null
  if (type === 'predicate') {
    const [yes, no] = options.map(described)
    const criteria = { ...(yes && { true: yes }), ...(no && { false: no }) }
    return { type: 'noul', instructions, criteria: Object.keys(criteria).length > 0 ? criteria : null }
  }
  if (type === 'choice') {
    return { type, instructions, criteria: Object.fromEntries(options.map((each) => [each.text, described(each)])) }
  }
  if (options.length > MOST_LEVELS) {
    const message = `The upstream service accepts at most ${MOST_LEVELS} levels of a score.`
    throw new V1Error(400, message, { param: 'questions' })
  }
  return { type, instructions, criteria: options.map(levelOf) }
}

/** Levels that were asked in this form have numbers for names, and are what their description says. */
function levelOf({ text, description }: DecideOption, level: number): string {
  if (description === undefined) return text
  return text === String(level) ? description : `${text}: ${description}`
}

interface NamedAnswer {
  readonly type?: unknown
  readonly noul?: unknown
  readonly probabilities?: unknown
  readonly option_mass?: unknown
}

/** The answers of another service; anything may be missing from them. */
export function decidedBySystemOne(text: string, call: DecideCall): Decided {
  const sent = parsed(text) as {
    answers?: Readonly<Record<string, NamedAnswer>>
    usage?: Record<string, unknown> | null
    calibration?: { temperature?: unknown }
  }
  return {
    answers: call.questions.map((question, i) =>
      decisionOf(question, ownOf(sent.answers, questionName(i)) as NamedAnswer),
    ),
    usage: usageOf(sent.usage),
    ...temperatureOf(call, sent.calibration),
  }
}

function decisionOf({ type, options }: DecideQuestion, answer: NamedAnswer | undefined): Decision {
  if (answer?.type === 'refusal') return { refused: true }
  if (answer?.type !== (type === 'predicate' ? 'noul' : type))
    throw brokenService('sent no answer to one of the questions')
  const { noul, probabilities } = answer
  const likely =
    type === 'predicate'
      ? [noul, 1 - Number(noul)]
      : options.map(({ text }, level) => ownOf(probabilities, type === 'choice' ? text : String(level)))
  return decisionFrom(likely, answer.option_mass)
}

function ownOf(all: unknown, name: string): unknown {
  if (typeof all !== 'object' || all === null || !Object.hasOwn(all, name)) return undefined
  return (all as Record<string, unknown>)[name]
}
