import { V1Error } from '../../src/contract/errors.js'
import { askJson, type OpenEndpoint } from './endpoint.js'

/** A text, or what JSON can say. */
type Input = string | Readonly<Record<string, unknown>> | readonly unknown[]

/** A question of the AI SDK; of a `box` models here know nothing. */
export type DecisionQuestion =
  | {
      readonly type: 'boolean'
      readonly instructions?: Input | null
      readonly criteria?: { readonly true?: Input | null; readonly false?: Input | null } | null
    }
  | {
      readonly type: 'choice'
      readonly instructions?: Input | null
      readonly criteria: Readonly<Record<string, Input | null>>
    }
  | { readonly type: 'score'; readonly instructions?: Input | null; readonly criteria: readonly (Input | null)[] }
  | { readonly type: 'box'; readonly instructions?: Input | null }

/** A part of what is judged. */
export type DecisionPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'json'; readonly value: unknown }
  | { readonly type: 'file'; readonly data: { readonly type: string; readonly text?: string } }

/** What the AI SDK asks of a model for `experimental_decide`. */
export interface Deciding {
  readonly state: readonly DecisionPart[]
  readonly questions: Readonly<Record<string, DecisionQuestion>>
  readonly maxOutputTokens?: number
  readonly reasoning?: string
  readonly abortSignal?: AbortSignal
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export type DecisionAnswer =
  | { type: 'boolean'; probability: number }
  | { type: 'choice'; choice: string; probabilities: Record<string, number> }
  | { type: 'score'; score: number; probabilities: Record<string, number> }
  | { type: 'refusal' }

/** A model for `experimental_decide` of the AI SDK, in the form that its version 7 takes. */
export interface LocalDecisions {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  readonly supportedQuestionTypes: readonly ('boolean' | 'choice' | 'score')[]
  doDecide(call: Deciding): Promise<{
    answers: Record<string, DecisionAnswer>
    usage: { inputTokens: number; outputTokens: number }
    warnings: { type: 'unsupported'; feature: string }[]
  }>
}

/** `POST systemone`, whose questions are the SDK's but for a name. */
export function localDecisions(endpoint: OpenEndpoint, modelId: string): LocalDecisions {
  return {
    specificationVersion: 'v4',
    provider: 'local-v1.decision',
    modelId,
    supportedQuestionTypes: ['boolean', 'choice', 'score'],
    async doDecide({ state, questions, maxOutputTokens, reasoning, abortSignal: signal, headers }) {
      const entries = Object.entries(questions).map(([name, question]) => [name, wireQuestion(name, question)])
      const body = {
        model: modelId,
        state: state.map((part, i) => textOfPart(part, i, 'decided about')).join('\n'),
        questions: Object.fromEntries(entries),
        ...(reasoning !== undefined && reasoning !== 'provider-default' && { reasoning: { effort: reasoning } }),
      }
      const { answers, usage } = await askJson<SystemOne>(endpoint, '/systemone', {
        body,
        signal,
        ...(headers && { headers }),
      })
      const replies = Object.keys(questions).map((name) => [name, answerOf(name, answers)])
      return {
        answers: Object.fromEntries(replies),
        usage: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens },
        // No answer is written: how long it may be says nothing.
        warnings: maxOutputTokens === undefined ? [] : [{ type: 'unsupported', feature: 'maxOutputTokens' }],
      }
    },
  }
}

/** `done`: what is done with the state, for the error. */
export function textOfPart(part: DecisionPart, place: number, done: string): string {
  if (part.type === 'text') return part.text
  if (part.type === 'json') return JSON.stringify(part.value)
  if (part.data.type === 'text' && part.data.text !== undefined) return part.data.text
  const param = `state[${place}]`
  throw new V1Error(400, `Invalid '${param}': only text files can be ${done}.`, { param })
}

function wireQuestion(name: string, question: DecisionQuestion): object {
  if (question.type !== 'box') return question.type === 'boolean' ? { ...question, type: 'noul' } : question
  const param = `questions.${name}`
  throw new V1Error(400, `Invalid '${param}': questions are boolean, choice or score here.`, { param })
}

interface SystemOne {
  readonly answers: Readonly<
    Record<string, Exclude<DecisionAnswer, { type: 'boolean' }> | { type: 'noul'; noul: number }>
  >
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number }
}

function answerOf(name: string, answers: SystemOne['answers']): DecisionAnswer {
  const answer = answers[name]
  if (answer?.type === 'noul') return { type: 'boolean', probability: answer.noul }
  if (answer?.type === 'refusal') return { type: 'refusal' }
  if (answer?.type === 'choice') return { type: 'choice', choice: answer.choice, probabilities: answer.probabilities }
  if (answer?.type === 'score') return { type: 'score', score: answer.score, probabilities: answer.probabilities }
  throw new V1Error(502, `The question '${name}' was not answered.`, { code: 'invalid_output', param: name })
}
