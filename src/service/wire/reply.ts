import type { ChatCall, Part, TokenLogprob, Usage, V1Error } from '../../contract/index.js'
import { type EvidenceOfDocument, evidenceIn, withEvidence } from './evidence.js'
import { seconds, toolCallId } from './ids.js'
import { checkPart, Halves } from './parts.js'

/** What every chunk of a reply, or the whole of it, says alike. */
export interface ReplyHead {
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  readonly model: string
  /** When the engine was called, on the clock of `performance.now()`: the model was there by then. */
  readonly calledAt: number
  /** Of the model's earlier answers; an answer's own may come only with its last part. */
  readonly fingerprint: string | undefined
}

export interface ToolCallSoFar {
  readonly id: string
  readonly name: string
  arguments: string
}

/** One of the `n` answers as far as it has come. */
export interface AnswerChoice {
  readonly index: number
  text: string
  reasoning: string
  readonly toolCalls: (ToolCallSoFar | undefined)[]
  finish?: 'stop' | 'length' | 'tool_calls'
  /** Which of the texts that end an answer ended it. */
  stop?: string | undefined
  /** What the values of its document rest on, where that was asked for: it grows with each of them. */
  evidence?: EvidenceOfDocument
  /** All of its tokens, where they were asked for. */
  tokens?: readonly number[] | undefined
}

/** The tool call that a part is of; new ones without an id of their own are given one, by which clients answer them. */
function toolCallOf(
  { toolCalls }: AnswerChoice,
  { index, id, name }: Part & { type: 'tool-call-delta' },
): ToolCallSoFar {
  const known = toolCalls[index]
  if (known) return known
  if (index > toolCalls.length) throw new Error(`The engine began tool call ${index} before the one before it.`)
  if (!name) throw new Error(`The engine began tool call ${index} without its name.`)
  const isTaken = toolCalls.some((other) => other?.id === id)
  const call = { id: !id || isTaken ? toolCallId() : id, name, arguments: '' }
  toolCalls[index] = call
  return call
}

/** Keeps count of an answer while its parts go by, whichever form they are sent in. */
export class Answer {
  readonly choices: readonly AnswerChoice[]
  usage: Usage = NO_USAGE
  /** The tokens of prompts, each by the first choice that answers it, where they were asked for. */
  readonly prompts: (readonly number[] | undefined)[] = []
  fingerprint: string | undefined
  /** Tokens of all choices that the grammar decided. */
  forcedTokens = 0
  readonly #halves = new Halves()
  #open: number
  #deltas = 0
  #silent = false

  constructor(n: number) {
    this.choices = Array.from({ length: n }, (_, index) => ({ index, text: '', reasoning: '', toolCalls: [] }))
    this.#open = n
  }

  get finished(): boolean {
    return this.#open === 0
  }

  /** Its prompt is only to be read: the token that an engine draws to do so is told and counted by nobody. */
  silence(): void {
    this.#silent = true
    this.usage = wordless(this.usage)
  }

  /** Of an answer that was cut off, or whose engine counts nothing, no tokens have been told, but each of its pieces was one or more. */
  countedUsage(): Usage {
    const { completionTokens } = this.usage
    return { ...this.usage, completionTokens: this.#silent ? 0 : completionTokens || this.#deltas }
  }

  #openChoice({ type }: Part, index = 0): AnswerChoice {
    const choice = this.choices[index]
    if (!choice || choice.finish) throw new Error(`The engine sent a ${type} for choice ${index}, out of turn.`)
    return choice
  }

  /** Takes a part in, and gives it back as it is told; what breaks the contract is the engine's fault, and is thrown. */
  take(said: Part): Part {
    checkPart(said)
    const part = this.#halves.joined(said)
    if (part.type === 'usage') {
      this.usage = this.#silent ? wordless(part.usage) : part.usage
      this.fingerprint = part.fingerprint ?? this.fingerprint
      return part
    }
    if (part.type === 'prompt') {
      this.prompts[this.#openChoice(part, part.choice).index] = part.tokens
      return part
    }
    const choice = this.#openChoice(part, part.choice)
    if (part.type === 'tool-call-delta' || ('text' in part && part.text !== '')) this.#deltas++
    if (part.type === 'text-delta') {
      choice.text += part.text
      this.forcedTokens += part.forced ?? 0
    } else if (part.type === 'evidence') choice.evidence = withEvidence(choice.evidence, evidenceIn(part))
    else if (part.type === 'reasoning-delta') choice.reasoning += part.text
    else if (part.type === 'tool-call-delta') {
      const call = toolCallOf(choice, part)
      call.arguments += part.arguments
      return part.id === call.id ? part : { ...part, id: call.id }
    } else {
      choice.finish = part.reason
      choice.stop = part.stop
      choice.tokens = part.tokens
      this.#open--
    }
    return part
  }
}

/** How the request that a call comes from names its parts: errors name what the client wrote. */
export interface FieldNames {
  /** The place of the schema that the content must satisfy. */
  readonly format: string
  /** The place of a tool's parameters. */
  parameters(tool: number): string
  /** @default 'logprobs' */
  readonly logprobs?: string
  /** @default 'return_token_ids' */
  readonly tokens?: string
  /** What stands behind a gap. @default 'suffix' */
  readonly suffix?: string
  /** What asks for all strings to be quotes. @default 'quote' */
  readonly quote?: string
  /** @default 'reasoning_effort' */
  readonly thinking?: string
  /** How a field of sampling is called here, which OpenAI or vLLM calls `name`. @default the same */
  sampling?(name: string): string
  /** The type of a part that is an image. @default 'image_url' */
  readonly image?: string
  /** The place of a part's type. @default `messages[0].content[0].type` */
  part?(message: number, part: number): string
}

/** What is asked of a model, whichever endpoint it is asked by. The service adds the rest of a call. */
export interface CallSpec extends Omit<ChatCall, 'id' | 'signal' | 'grammar' | 'toolGrammar' | 'describeSchema'> {
  readonly fields: FieldNames
  /** Several prompts, each answered by its share of the `n` choices. */
  readonly prompts?: readonly NonNullable<ChatCall['prompt']>[]
  /**
   * For a conversation that is longer than the model's context: the same with its oldest part left out, or undefined
   * where nothing more can go. Absent: too long a conversation is refused.
   */
  readonly shortened?: (messages: ChatCall['messages']) => ChatCall['messages'] | undefined
}

/** An answer that is sent as it comes into being: each of these gives the text to send, empty where there is nothing to say. */
export interface StreamReply {
  readonly stream: true
  /** Of its form. @default those of an event stream */
  readonly headers?: Readonly<Record<string, string>>
  /** Before the first part. `answer` takes in every part before the reply hears of it. */
  begin(head: ReplyHead, answer: Answer): string
  part(part: Part): string
  /** The last words of an answer that is whole; what must be safe before they go out is awaited. */
  end(): string | Promise<string>
  failed(error: V1Error): string | Promise<string>
  /** What is sent behind the words that were just given, where it is too long to be made at once. */
  more?(): Generator<string, void, void> | undefined
}

/** An answer that is sent once it is whole. */
export interface WholeReply {
  readonly stream: false
  begin?(head: ReplyHead, answer: Answer): void
  part?(part: Part): void
  whole(head: ReplyHead, answer: Answer): unknown
}

export type Reply = StreamReply | WholeReply

/** A request that has been read: what a model is to do, and the reply that its answer is written as. */
export interface ModelRequest {
  readonly spec: CallSpec
  readonly reply: Reply
  /** The id that answers of this kind have. */
  readonly id: string
  /** Fields that were given and that nothing here reads. */
  readonly ignored: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export interface WireLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[] | null
  readonly top_logprobs: readonly {
    readonly token: string
    readonly logprob: number
    readonly bytes: readonly number[] | null
  }[]
}

/** What OpenAI sends for a token that cannot come; JSON has no infinity. */
export const NEVER_LOGPROB = -9999

export const finite = (logprob: number): number => (Number.isFinite(logprob) ? logprob : NEVER_LOGPROB)

export function wireLogprob({ token, logprob, bytes, top }: TokenLogprob): WireLogprob {
  return {
    token,
    logprob: finite(logprob),
    bytes,
    top_logprobs: top.map((other) => ({ token: other.token, logprob: finite(other.logprob), bytes: other.bytes })),
  }
}

export interface WireUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number; readonly audio_tokens: 0 }
  readonly completion_tokens_details: {
    readonly reasoning_tokens: number
    readonly audio_tokens: 0
    readonly accepted_prediction_tokens: 0
    readonly rejected_prediction_tokens: 0
    /** An extension, there only where it was asked for. */
    readonly forced_tokens?: number
  }
}

export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }

const wordless = (usage: Usage): Usage => ({ ...usage, completionTokens: 0, reasoningTokens: 0 })

/** What was made of texts, one after the other, as vLLM tells it. */
export const wireTexts = (id: string, model: string, data: readonly object[], promptTokens: number) => ({
  id,
  object: 'list',
  created: seconds(),
  model,
  data,
  usage: { prompt_tokens: promptTokens, total_tokens: promptTokens, completion_tokens: 0 },
})

export function wireUsage(usage: Usage, forcedTokens?: number): WireUsage {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens = 0 } = usage
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
      ...(forcedTokens !== undefined && { forced_tokens: forcedTokens }),
    },
  }
}
