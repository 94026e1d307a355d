import type { Part } from '../../../contract/index.js'
import type { Answer, AnswerChoice, AnswerHead } from '../answer.js'
import { CallInput } from '../custom-tool.js'
import type { EvidenceOfDocument } from '../evidence.js'
import { type WireLogprob, wireLogprob } from '../logprobs.js'
import { type WireUsage, wireUsage } from '../usage.js'

export interface Completion {
  readonly id: string
  readonly object: 'chat.completion'
  readonly created: number
  readonly model: string
  readonly system_fingerprint?: string
  readonly choices: readonly CompletionChoice[]
  readonly usage: WireUsage
  /** An extension, vLLM's: there only where it was asked for. */
  readonly prompt_token_ids?: readonly number[]
}

export interface CompletionChoice {
  readonly index: number
  readonly message: {
    readonly role: 'assistant'
    readonly content: string | null
    readonly refusal: null
    /** An extension, there only where a model has thought; under both names that clients read. */
    readonly reasoning_content?: string
    readonly reasoning?: string
    readonly annotations: readonly []
    readonly tool_calls?: readonly CompletionCall[]
  }
  readonly logprobs: { readonly content: readonly WireLogprob[]; readonly refusal: null } | null
  readonly finish_reason: 'stop' | 'length' | 'tool_calls'
  /** An extension, vLLM's: the text of `stop` that ended it, where one did. */
  readonly stop_reason?: string
  /** An extension, ours: there only where it was asked for. */
  readonly evidence?: EvidenceOfDocument
  /** As `prompt_token_ids`. */
  readonly token_ids?: readonly number[]
}

export type CompletionCall = { readonly id: string } & (
  | { readonly type: 'function'; readonly function: { readonly name: string; readonly arguments: string } }
  | { readonly type: 'custom'; readonly custom: { readonly name: string; readonly input: string } }
)

/** The log probabilities of a whole answer, which only a completion has to hold back until the end. */
export class Logprobs {
  readonly #choices: WireLogprob[][]

  constructor(n: number) {
    this.#choices = Array.from({ length: n }, () => [])
  }

  take(part: Part): void {
    if (part.type !== 'text-delta') return
    for (const logprob of part.logprobs ?? []) this.#choices[part.choice]!.push(wireLogprob(logprob))
  }

  of(choice: number): readonly WireLogprob[] {
    return this.#choices[choice]!
  }
}

/** `custom`: the tools whose calls are told as texts. */
export function completionOf(
  head: AnswerHead,
  answer: Answer,
  logprobs: Logprobs | undefined,
  custom: ReadonlySet<string>,
): Completion {
  const fingerprint = answer.fingerprint ?? head.fingerprint
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: answer.choices.map((choice) => completionChoice(choice, logprobs, custom)),
    usage: wireUsage(answer.usage),
    ...(answer.prompts[0] && { prompt_token_ids: answer.prompts[0] }),
    ...(fingerprint !== undefined && { system_fingerprint: fingerprint }),
  }
}

function completionChoice(
  choice: AnswerChoice,
  logprobs: Logprobs | undefined,
  custom: ReadonlySet<string>,
): CompletionChoice {
  const calls = choice.toolCalls.filter((call) => call !== undefined)
  return {
    index: choice.index,
    message: {
      role: 'assistant',
      content: choice.text === '' && calls.length > 0 ? null : choice.text,
      refusal: null,
      annotations: [],
      ...(choice.reasoning !== '' && { reasoning_content: choice.reasoning, reasoning: choice.reasoning }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id, name, arguments: text }) =>
          custom.has(name)
            ? { id, type: 'custom' as const, custom: { name, input: new CallInput().push(text) } }
            : { id, type: 'function' as const, function: { name, arguments: text } },
        ),
      }),
    },
    logprobs: logprobs ? { content: logprobs.of(choice.index), refusal: null } : null,
    finish_reason: choice.finish ?? 'stop',
    ...(choice.stop !== undefined && { stop_reason: choice.stop }),
    ...(choice.evidence.told && { evidence: choice.evidence.told }),
    ...(choice.tokens && { token_ids: choice.tokens }),
  }
}
