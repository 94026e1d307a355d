import type { ChatCall, Part, V1Error } from '../../contract/index.js'
import type { Answer, AnswerHead } from './answer.js'

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
  begin(head: AnswerHead, answer: Answer): string
  part(part: Part): string
  /** The last words of an answer that is whole; what must be safe before they go out is awaited. */
  end(): string | Promise<string>
  failed(error: V1Error): string | Promise<string>
}

/** An answer that is sent once it is whole. */
export interface WholeReply {
  readonly stream: false
  begin(head: AnswerHead, answer: Answer): void
  part(part: Part): void
  whole(): unknown
}

export type Reply = StreamReply | WholeReply

/** A request that has been read: what to ask the model for, and how to tell its answer. */
export interface Asked {
  readonly spec: CallSpec
  readonly reply: Reply
  /** The id that answers of this kind have. */
  readonly id: string
  /** Fields that were given and that nothing here reads. */
  readonly ignored: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}
