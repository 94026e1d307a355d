import type { Part, V1Error } from '../../../contract/index.js'
import { SSE_DONE, sseEvent } from '../../stream/sse.js'
import { type EvidenceOfDocument, evidenceIn } from '../../wire/evidence.js'
import {
  type Answer,
  type AnswerChoice,
  type CallSpec,
  type ReplyHead,
  type StreamReply,
  type WholeReply,
  type WireLogprob,
  type WireUsage,
  wireLogprob,
  wireUsage,
} from '../../wire/reply.js'
import { CallInput, customNames } from '../../wire/tools.js'

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

export class ChatCompletion implements WholeReply {
  readonly stream = false
  /** Of each choice, which only a completion has to hold back until the end; undefined: they were not asked for. */
  readonly #logprobs: WireLogprob[][] | undefined
  readonly #custom: ReadonlySet<string>

  constructor({ topLogprobs, n, tools }: CallSpec) {
    this.#custom = customNames(tools)
    this.#logprobs = topLogprobs === undefined ? undefined : Array.from({ length: n }, () => [])
  }

  part(part: Part): void {
    if (part.type !== 'text-delta' || !this.#logprobs) return
    for (const logprob of part.logprobs ?? []) this.#logprobs[part.choice]!.push(wireLogprob(logprob))
  }

  whole(head: ReplyHead, answer: Answer): Completion {
    const fingerprint = answer.fingerprint ?? head.fingerprint
    return {
      id: head.id,
      object: 'chat.completion',
      created: head.created,
      model: head.model,
      choices: answer.choices.map((choice) => completionChoice(choice, this.#logprobs?.[choice.index], this.#custom)),
      usage: wireUsage(answer.usage),
      ...(answer.prompts[0] && { prompt_token_ids: answer.prompts[0] }),
      ...(fingerprint !== undefined && { system_fingerprint: fingerprint }),
    }
  }
}

/** `custom`: the tools whose calls are told as texts. */
function completionChoice(
  choice: AnswerChoice,
  logprobs: readonly WireLogprob[] | undefined,
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
    logprobs: logprobs ? { content: logprobs, refusal: null } : null,
    finish_reason: choice.finish ?? 'stop',
    ...(choice.stop !== undefined && { stop_reason: choice.stop }),
    ...(choice.evidence && { evidence: choice.evidence }),
    ...(choice.tokens && { token_ids: choice.tokens }),
  }
}

/** What a stream tells beside its text, where that was asked for. */
export interface ChunkOptions {
  readonly includeUsage: boolean
  /** An extension: which text the grammar decided is told with it. */
  readonly includeForced: boolean
}

/**
 * The chunks of one answer. Put together by hand: all but a few characters of a chunk are the same from token to token,
 * and a fast model sends thousands a second.
 */
export class ChatChunks implements StreamReply {
  readonly stream = true
  readonly #options: ChunkOptions
  /** The tools whose calls are told as texts. */
  readonly #custom: ReadonlySet<string>
  readonly #tail: string
  readonly #started: boolean[] = []
  readonly #calls: boolean[][] = []
  readonly #inputs: CallInput[][] = []
  #answer!: Answer
  #about!: ReplyHead
  #head = ''

  constructor({ tools }: CallSpec, options: ChunkOptions) {
    this.#options = options
    this.#custom = customNames(tools)
    this.#tail = options.includeUsage ? ',"usage":null}' : '}'
  }

  begin(head: ReplyHead, answer: Answer): string {
    this.#answer = answer
    this.#about = head
    this.#head = headOf(head, head.fingerprint)
    return ''
  }

  /** The chunks for a part that the answer has already taken in; empty where there is nothing to say. */
  part(part: Part): string {
    if (part.type === 'usage' || part.type === 'prompt') return ''
    const chunk = this.#chunkOf(part)
    if (this.#started[part.choice]) return chunk
    this.#started[part.choice] = true
    const [prompt] = this.#answer.prompts
    const ids = prompt ? `,"prompt_token_ids":${JSON.stringify(prompt)}` : ''
    return this.#chunk(part.choice, '{"role":"assistant","content":"","refusal":null}', 'null', 'null', '', ids) + chunk
  }

  end(): string {
    return this.#usage() + SSE_DONE
  }

  failed(error: V1Error): string {
    return sseEvent(JSON.stringify(error))
  }

  /** The chunk that comes last and alone, when it is asked for. */
  #usage(): string {
    if (!this.#options.includeUsage) return ''
    // By now the engine may have said what it is.
    const head = headOf(this.#about, this.#answer.fingerprint ?? this.#about.fingerprint)
    const forced = this.#options.includeForced ? this.#answer.forcedTokens : undefined
    return sseEvent(`${head}],"usage":${JSON.stringify(wireUsage(this.#answer.usage, forced))}}`)
  }

  #chunkOf(part: Exclude<Part, { type: 'usage' | 'prompt' }>): string {
    if (part.type === 'finish') {
      const stop = part.stop === undefined ? '' : `,"stop_reason":${JSON.stringify(part.stop)}`
      const tokens = part.tokens ? `,"token_ids":${JSON.stringify(part.tokens)}` : ''
      // All once more: helpers of clients keep what the last chunk says.
      const known = this.#answer.choices[part.choice]!.evidence
      const evidence = known ? `,"evidence":${JSON.stringify(known)}` : ''
      return this.#chunk(part.choice, '{}', 'null', `"${part.reason}"`, stop + evidence + tokens)
    }
    if (part.type === 'tool-call-delta') return this.#toolCall(part)
    if (part.type === 'reasoning-delta') return part.text === '' ? '' : this.#thought(part)
    if (part.type === 'evidence') return this.#evidence(part)
    return part.text === '' && !part.logprobs?.length ? '' : this.#text(part)
  }

  /** `more` stands in the choice, `beside` beside it. */
  #chunk(choice: number, delta: string, logprobs: string, finish: string, more = '', beside = ''): string {
    return sseEvent(
      `${this.#head}{"index":${choice},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}${more}}]${beside}${this.#tail}`,
    )
  }

  #text({ choice, text, logprobs, forced }: Part & { type: 'text-delta' }): string {
    const wire = logprobs ? JSON.stringify({ content: logprobs.map(wireLogprob), refusal: null }) : 'null'
    const more = forced !== undefined && this.#options.includeForced ? `,"forced_tokens":${forced}` : ''
    return this.#chunk(choice, `{"content":${JSON.stringify(text)}}`, wire, 'null', more)
  }

  #evidence(part: Part & { type: 'evidence' }): string {
    return this.#chunk(part.choice, '{}', 'null', 'null', `,"evidence":${JSON.stringify(evidenceIn(part))}`)
  }

  /** Under both names that clients read. */
  #thought({ choice, text }: Part & { type: 'reasoning-delta' }): string {
    const json = JSON.stringify(text)
    return this.#chunk(choice, `{"reasoning_content":${json},"reasoning":${json}}`, 'null', 'null')
  }

  /** The first piece of a call carries its id, type and name; those after it, arguments alone. */
  #toolCall(part: Part & { type: 'tool-call-delta' }): string {
    this.#calls[part.choice] ??= []
    const seen = this.#calls[part.choice]!
    const known = seen[part.index]
    seen[part.index] = true
    const call = this.#answer.choices[part.choice]!.toolCalls[part.index]!
    const type = this.#custom.has(call.name) ? 'custom' : 'function'
    const args = type === 'custom' ? { input: this.#inputOf(part) } : { arguments: part.arguments }
    if (known && args.input === '') return ''
    const delta = known
      ? { index: part.index, [type]: args }
      : { index: part.index, id: call.id, type, [type]: { name: call.name, ...args } }
    return this.#chunk(part.choice, `{"tool_calls":[${JSON.stringify(delta)}]}`, 'null', 'null')
  }

  #inputOf({ choice, index, arguments: json }: Part & { type: 'tool-call-delta' }): string {
    this.#inputs[choice] ??= []
    this.#inputs[choice][index] ??= new CallInput()
    return this.#inputs[choice][index].push(json)
  }
}

function headOf({ id, created, model }: ReplyHead, fingerprint: string | undefined): string {
  const known = fingerprint === undefined ? '' : `"system_fingerprint":${JSON.stringify(fingerprint)},`
  return (
    `{"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},` +
    `"model":${JSON.stringify(model)},${known}"choices":[`
  )
}
