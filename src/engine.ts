/**
 * The contract between the service and whatever runs a model. It imports nothing, so that an engine can be written
 * against this file alone. `generate` is the only path to text: a non-streaming answer is the collected stream.
 */

export interface ModelInfo {
  /** `<namespace>/<model_name>` */
  readonly id: string
  readonly ownedBy: string
  /** Tokens that prompt and answer share. */
  readonly contextLength?: number
  /**
   * What answers at the moment: weights, kernels, device. An engine that names it here has it in every chunk as
   * `system_fingerprint`, from a model's first stream on; the one in the usage part comes with the last chunk.
   */
  readonly fingerprint?: string
  /** Shown in `/v1/models` as it is: the device and why it was chosen, sizes, why a model cannot run here. */
  readonly metadata?: Readonly<Record<string, string | number | boolean | null>>
}

export interface Engine {
  /** What can be asked for now. Read on every request: an engine may add and remove models while it runs. */
  readonly models: readonly ModelInfo[]
  /** Settles once `models` is whole, for an engine that must look around first. The service waits for it. */
  readonly ready?: Promise<void>
  /**
   * Runs one call. Stops within one step once `call.signal` aborts, and frees everything in `finally`.
   * A refusal (too long a prompt, too small a budget, no device) is a `V1Error` thrown before the first part.
   */
  generate(call: ChatCall): AsyncIterable<Part>
  /**
   * Readies a model. For one that is already loaded it settles at once; for one that is being loaded it joins that
   * load. The service calls it before a model's first request; `generate` must cope with a model that was unloaded since.
   */
  load?(model: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void>
  unload?(model: string): Promise<void>
  /** Unloads a model and deletes what was downloaded for it. */
  remove?(model: string): Promise<void>
  /** Looks at what is there from earlier runs, so that `models` can say so; called before they are listed. */
  survey?(): Promise<void>
  close?(): Promise<void>
}

export interface LoadProgress {
  readonly model: string
  readonly phase: 'download' | 'read' | 'upload' | 'compile' | 'ready'
  readonly bytesLoaded: number
  readonly bytesTotal: number
  readonly filesLoaded: number
  readonly filesTotal: number
  readonly secondsLeft?: number
  readonly message?: string
  /** Why a download is tried again, and when. */
  readonly retry?: string
}

export interface ChatCall {
  /** `chatcmpl-...`, for logs. */
  readonly id: string
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly signal: AbortSignal
  /** How many independent answers. */
  readonly n: number
  /** Upper bound of generated tokens per choice; absent: as far as the context reaches. */
  readonly maxTokens?: number
  readonly stop: readonly string[]
  readonly sampling: Sampling
  /** Absent: none. 0: that of the sampled token only. */
  readonly topLogprobs?: number
  readonly output: OutputFormat
  /** What `output` demands, compiled. The generated content must be a sentence of it. */
  readonly grammar?: OutputGrammar
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  /** One tool call as `{"name":...,"arguments":{...}}`, for the tools that `toolChoice` admits. */
  readonly toolGrammar?: OutputGrammar
  /** Passed to the chat template as variables: `enable_thinking`, ... */
  readonly templateOptions?: Readonly<Record<string, unknown>>
  /** Whether the engine may put the schema into the prompt in a form that suits the model. */
  readonly describeSchema: boolean
}

export interface Sampling {
  readonly temperature: number
  readonly topP: number
  readonly presencePenalty: number
  readonly frequencyPenalty: number
  /** Token id to bias, -100 to 100. */
  readonly logitBias?: ReadonlyMap<number, number>
  /** Absent: the engine draws one. */
  readonly seed?: number
}

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string; readonly name?: string }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly name?: string
      readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
    }
  | { readonly role: 'tool'; readonly content: string; readonly toolCallId: string }

export interface ToolSpec {
  readonly name: string
  readonly description?: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly strict: boolean
}

export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string }

export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly name: string
      readonly description?: string
      readonly strict: boolean
      readonly schema: Readonly<Record<string, unknown>> | boolean
    }

export type Part =
  | {
      readonly type: 'text-delta'
      readonly choice: number
      readonly text: string
      readonly logprobs?: readonly TokenLogprob[]
      /**
       * How many of the tokens behind this text the grammar decided, without a forward pass of their own; absent where
       * the model chose it. 0 where certain text only made the token before it longer.
       */
      readonly forced?: number
    }
  | {
      readonly type: 'tool-call-delta'
      readonly choice: number
      readonly index: number
      readonly id?: string
      readonly name?: string
      readonly arguments: string
    }
  | { readonly type: 'finish'; readonly choice: number; readonly reason: 'stop' | 'length' | 'tool_calls' }
  /** May come more than once: the last one counts. `fingerprint` becomes `system_fingerprint`. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly fingerprint?: string }

export interface TokenLogprob {
  readonly token: string
  readonly bytes: readonly number[] | null
  readonly logprob: number
  readonly top: readonly {
    readonly token: string
    readonly bytes: readonly number[] | null
    readonly logprob: number
  }[]
}

export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  /** The part of `promptTokens` that came from an earlier request's cache. */
  readonly cachedTokens: number
}

/** What a grammar has to know of a tokenizer. `structured`'s Vocabulary is one. */
export interface TokenVocabulary {
  readonly size: number
}

/** A set of texts, such as all documents that satisfy a schema. `structured`'s Grammar is one. */
export interface OutputGrammar {
  /** What it was compiled from: an engine in another thread compiles it anew there. */
  readonly source?: GrammarSource
  accepts(text: string): boolean
  start(vocabulary: TokenVocabulary): TokenConstraint
}

/** Plain data, which can be sent to another thread. */
export interface GrammarSource {
  readonly schema: unknown
  readonly strict: boolean
  readonly layout: 'compact' | 'spaced' | { readonly indent: number | '\t' }
  readonly fuel?: number
}

/** Where one choice stands in its grammar. */
export interface TokenConstraint {
  /** True once the text is complete and nothing more can follow. */
  readonly done: boolean
  /** The fewest tokens with which the text can still be completed, the end token not counted. */
  readonly shortest: number
  /** Sets the bit of every token that may come next (end tokens too, when the text may stop here). */
  mask(into: Uint32Array): void
  accept(token: number): boolean
  /** The bytes that are certain to come next; empty at a branch. */
  forced(): Uint8Array
  /** From here on only tokens that can still close within `budget` tokens; false if even that is impossible. */
  closing(budget: number): boolean
  /** Takes back the last `tokens` accepted tokens. */
  rollback(tokens: number): void
  clone(): TokenConstraint
}
