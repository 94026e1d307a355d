/**
 * The contract between the service and whatever runs a model. It imports nothing, so that an engine can be written
 * against this file alone. `generate` is the only path to text: a non-streaming answer is the collected stream.
 *
 * This is version 2. An engine of version 1 works unchanged: it gets no call that it has not declared.
 */

export interface ModelInfo {
  /** `<namespace>/<model_name>` */
  readonly id: string
  readonly ownedBy: string
  /** Tokens that prompt and answer share. */
  readonly contextLength?: number
  /**
   * Identifies what answers now: weights, kernels, device. If an engine sets it here, every chunk has it as
   * `system_fingerprint`, from a model's first stream on; the one in the usage part comes with the last chunk.
   */
  readonly fingerprint?: string
  /** What it can and cannot do. The service refuses the rest with a 400 that names the field. */
  readonly capabilities?: Capabilities
  /** Shown in `/v1/models` as it is: the device and why it was chosen, sizes, why a model cannot run here. */
  readonly metadata?: Readonly<Record<string, string | number | boolean | null>>
}

/** What a model can do. Absent: `true`, except where the default is `false`. */
export interface Capabilities {
  /** Generate text; an encoder cannot. */
  readonly chat?: boolean
  readonly logprobs?: boolean
  readonly seed?: boolean
  readonly tools?: boolean
  /** Follow a schema: JSON of any kind. */
  readonly grammar?: boolean
  /** Follow a grammar other than JSON: `guided_regex`, `guided_choice`, `grammar`, structural tags. */
  readonly otherGrammars?: boolean
  /** Think before the answer, if the request asks for it. */
  readonly thinking?: boolean
  /** @default false */
  readonly images?: boolean
  /** @default false */
  readonly audio?: boolean
  /** @default false */
  readonly embeddings?: boolean
  /** @default false */
  readonly rerank?: boolean
  /**
   * Say which of its own classes a text belongs to: `classify`.
   * @default false
   */
  readonly classify?: boolean
  /**
   * Answer typed questions with probabilities: `decide`.
   * @default false
   */
  readonly decisions?: boolean
  /**
   * Use a fitted temperature for these probabilities, if the request asks for it: `calibrated`. Absent: not known.
   */
  readonly calibrated?: boolean
  /**
   * The sampling settings of local servers: `topK`, `minP`, `typicalP`, XTC, `repetitionPenalty` and DRY, `minTokens`, `stopTokens`, `ignoreEnds`.
   * @default false
   */
  readonly sampling?: boolean
  /**
   * Return the tokens of prompt and answer, and continue from tokens.
   * @default false
   */
  readonly tokens?: boolean
  /**
   * Fill a gap between two texts: `suffix`.
   * @default false
   */
  readonly infill?: boolean
  /**
   * Return how likely each token of a prompt is, and generate nothing: `echo` with `logprobs`, `max_tokens: 0`.
   * @default false
   */
  readonly promptLogprobs?: boolean
  /**
   * Say how sure the model is of each value of a document, and where it is in the conversation: `evidence`.
   * @default false
   */
  readonly evidence?: boolean
  /**
   * Take strings only from the conversation: `quote`, and `x-quote` in schemas.
   * @default false
   */
  readonly quotes?: boolean
  /**
   * Answer typed fields of a text itself: `extract`. If an engine cannot, `generate` answers the fields.
   * @default false
   */
  readonly extractions?: boolean
}

export interface Engine {
  /**
   * The version of this contract that the engine was written for.
   * @default 1
   */
  readonly version?: 1 | 2
  /** The models that it has now. Read on every request: an engine may add and remove models while it runs. */
  readonly models: readonly ModelInfo[]
  /** Settles once `models` is complete, for an engine that must find them first. The service waits for it. */
  readonly ready?: Promise<void>
  /**
   * Runs one call. Stops within one step once `call.signal` aborts, and frees everything in `finally`.
   * A refusal (too long a prompt, too small a budget, no device) is a `V1Error` thrown before the first part.
   */
  generate(call: ChatCall): AsyncIterable<Part>
  /** One vector for each input, for models whose `capabilities` say so. */
  embed?(call: EmbedCall): Promise<Embeddings>
  /** How well each document answers a query, for models whose `capabilities` say so. */
  rank?(call: RankCall): Promise<Ranking>
  /** How likely each of the model's own classes is for each input, for models whose `capabilities` say so. */
  classify?(call: ClassifyCall): Promise<Classified>
  /** How likely each option of each question is, for models whose `capabilities` say so. */
  decide?(call: DecideCall): Promise<Decided>
  /** What a text says about each field, for models whose `capabilities` have `extractions`. */
  extract?(call: ExtractCall): Promise<Extracted>
  /**
   * Where one text answers each of some questions, all of them in one reading: for models that point beside what they write.
   * Undefined: this model does not, or the text is too long for it; then `generate` answers, as it does what is not sure.
   */
  point?(call: PointCall): Promise<PointedText | undefined>
  tokenize?(call: TokenizeCall): Promise<TokenizedText>
  /** The text of tokens. */
  detokenize?(call: DetokenizeCall): Promise<string>
  /** The fields of a model's `tokenizer_config.json`, with its chat template, for every model format. */
  tokenizerInfo?(call: TokenizerInfoCall): Promise<Readonly<Record<string, unknown>>>
  /**
   * Compiles schemas and grammars, for an engine that computes in another thread than its service: it compiles there too,
   * so that the thread that answers HTTP computes nothing. Refusals are a `V1Error` 400. Absent, or undefined for this
   * model: the service does it itself.
   */
  constrain?(call: ConstrainCall): Promise<Constrained | undefined>
  /**
   * Finds out from a model's description what it can do, so that `capabilities` say so before its weights are here;
   * settles at once if that is known. The service calls it before it checks a request against them.
   */
  learn?(model: string, signal: AbortSignal): Promise<void>
  /**
   * Loads a model. If it is already loaded, it settles at once; if it is being loaded, it waits for that load. The service
   * calls it before a model's first request; `generate` must also work if the model was unloaded since.
   */
  load?(model: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void>
  unload?(model: string): Promise<void>
  /** Unloads a model, also one that is being loaded, and deletes what was downloaded for it; or refuses, and leaves it as it is. */
  remove?(model: string): Promise<void>
  /** Finds out what is stored from earlier runs, so that `models` can say so; called before they are listed. */
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
  /** A text or tokens to continue without a template, instead of `messages`, which are then empty. */
  readonly prompt?: string | readonly number[]
  readonly signal: AbortSignal
  /** Who sent it: callers take turns. Absent: not known. */
  readonly caller?: string
  /** How many independent answers. */
  readonly n: number
  /** The text after the gap that the answer fills; `prompt`, a text, is before it. */
  readonly suffix?: string
  /** The most generated tokens of each choice; absent: as the context allows. 0 only for `promptLogprobs`. */
  readonly maxTokens?: number
  readonly stop: readonly string[]
  /** An answer does not end before it has this many tokens. */
  readonly minTokens?: number
  /** Tokens that end an answer, as the model's own end tokens do. */
  readonly stopTokens?: readonly number[]
  /** The model's own end tokens do not end an answer. */
  readonly ignoreEnds?: boolean
  /** Whether to return the tokens of prompt and answer. */
  readonly returnTokens?: boolean
  readonly sampling: Sampling
  /** How many other tokens to return with each log probability. Absent: no log probabilities. 0: only the sampled token's. */
  readonly topLogprobs?: number
  /** Log probabilities have the ids of tokens, `token_id:123`, instead of texts, which several tokens may share. */
  readonly tokensAsIds?: boolean
  /** Whether to return the tokens of `prompt` too, with their log probabilities and `topLogprobs` others each. */
  readonly promptLogprobs?: boolean
  readonly output: OutputFormat
  /** What `output` requires, compiled. The generated content must be a text of this grammar. */
  readonly grammar?: OutputGrammar
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  /** One tool call as `{"name":...,"arguments":{...}}`, for the tools that `toolChoice` allows. */
  readonly toolGrammar?: OutputGrammar
  /** Passed to the chat template as variables: `enable_thinking`, ... */
  readonly templateOptions?: Readonly<Record<string, unknown>>
  /** The most tokens of thinking in each answer, if the model thinks; absent: by the effort in `templateOptions`. */
  readonly thinkingBudget?: number
  /** Whether the engine may describe the schema in the prompt, in a form that suits the model. */
  readonly describeSchema: boolean
  /** Whether to send `evidence` parts for the values of the document; only if `output` is a schema. */
  readonly evidence?: boolean
}

/** The settings in a request. If one is absent, the engine uses what the model's makers recommend, else the usual value. */
export interface Sampling {
  /** Usual: 1. */
  readonly temperature?: number
  /** Usual: 1. */
  readonly topP?: number
  /** Usual: 0. */
  readonly presencePenalty?: number
  /** Usual: 0. */
  readonly frequencyPenalty?: number
  /** Token id to bias, -100 to 100. */
  readonly logitBias?: ReadonlyMap<number, number>
  /** Absent: the engine chooses one. */
  readonly seed?: number
  /** Only this many of the most likely tokens, and those that are as likely as the last of them. Usual: 0, which is all. */
  readonly topK?: number
  /** Only tokens at least this share as likely as the most likely one, after the temperature. Usual: 0, which is all. */
  readonly minP?: number
  /**
   * Locally typical sampling: of the tokens that `topK` leaves, before the temperature, only those whose surprise is nearest
   * to the expected one, until they have more than this share of the probability. Usual: 1, which is all.
   */
  readonly typicalP?: number
  /** XTC: the probability that a token is drawn without the most likely ones, for less predictable answers. Usual: 0. */
  readonly xtcProbability?: number
  /** XTC then keeps, of the tokens with at least this probability (before the temperature), only the least likely. Usual: 0.1. */
  readonly xtcThreshold?: number
  /** Logits of tokens that prompt or answer contain are divided by it if they are above 0, else multiplied. Usual: 1. */
  readonly repetitionPenalty?: number
  /**
   * DRY: if a token would repeat a sequence, its logit is reduced by this times `dryBase` to the power of how much longer
   * than `dryAllowedLength` that sequence is. Usual: 0, which is off.
   */
  readonly dryMultiplier?: number
  /** Usual: 1.75. */
  readonly dryBase?: number
  /** Usual: 2. */
  readonly dryAllowedLength?: number
  /** In how many of the last tokens of prompt and answer repeated sequences are searched. Usual: -1, which is all. */
  readonly dryPenaltyLastN?: number
}

export interface EmbedCall {
  /** `embd-...`, for logs. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  readonly inputs: readonly (string | readonly number[])[]
  /** The length of the vectors; absent: the model's own. */
  readonly dimensions?: number
}

export interface Embeddings {
  /** In the order of the inputs. */
  readonly vectors: readonly ArrayLike<number>[]
  readonly promptTokens: number
}

export interface RankCall {
  /** `rerank-...`, for logs. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  readonly query: string
  readonly documents: readonly string[]
}

export interface Ranking {
  /** Between 0 and 1, in the order of the documents. */
  readonly scores: readonly number[]
  readonly promptTokens: number
}

export interface ClassifyCall {
  /** `classify-...` or `pool-...`, for logs. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  readonly inputs: readonly (string | readonly number[])[]
}

export interface Classified {
  /** In the order of the inputs: for each class, between 0 and 1. Their sum is 1 if a text belongs to one class. */
  readonly probabilities: readonly ArrayLike<number>[]
  /** The names of the classes, in their order; absent: the engine does not know. */
  readonly labels?: readonly string[]
  readonly promptTokens: number
}

/** Questions about one state, each with its options; nothing is generated. */
export interface DecideCall {
  /** `dec-...`, for logs. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  /** What is judged: a text, or a conversation, which is read and not continued. */
  readonly state: string | readonly ChatMessage[]
  readonly questions: readonly DecideQuestion[]
  /**
   * `average`: each question is asked with its options in several orders, and the mean is returned, so that the order in
   * which they are given does not matter.
   */
  readonly order: 'given' | 'average'
  /** Use the model's fitted temperature; refused if it has none. */
  readonly calibrated: boolean
  /** Think about the state first, with at most this many tokens; absent: not at all. */
  readonly thinkingBudget?: number
}

export interface DecideQuestion {
  /** A `predicate` has two options: true and false. The options of a `score` are levels, the lowest first. */
  readonly type: 'predicate' | 'choice' | 'score'
  /** Its name in the request, which some decision models read. */
  readonly name?: string | null
  /** The question, or the statement that may be true. */
  readonly instructions: Content
  /** At least one; no two have the same text. */
  readonly options: readonly DecideOption[]
}

export interface DecideOption {
  /** The answer that chooses it. */
  readonly text: string
  readonly description?: string
}

export interface Decided {
  /** In the order of the questions. */
  readonly answers: readonly Decision[]
  /** `promptTokens` counts the state as often as it was read: once, but by an encoder once for each question. */
  readonly usage: Usage
  readonly fingerprint?: string
  /** The temperature that calibrated the probabilities; absent: they are the model's own. */
  readonly temperature?: number
}

export type Decision =
  | {
      /** Of each option, in the order in which they were given; their sum is 1. */
      readonly probabilities: readonly number[]
      /** How much of the model's own probability fell on the options at all; absent: the engine does not know. */
      readonly optionMass?: number
    }
  /** The model would not answer. */
  | { readonly refused: true }

/** Typed fields of one text. */
export interface ExtractCall {
  /** `ext-...`, for logs. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  /** What is read. */
  readonly state: string
  readonly fields: readonly ExtractField[]
  /** `YYYY-MM-DD`: the day from which "tomorrow" and dates without a year are counted. */
  readonly referenceDate?: string
  /** Of the text: it decides how `03/04/2026` and `1.250` are read. */
  readonly locale?: string
}

export type ExtractField = {
  readonly name: string
  readonly instructions?: string
  /** From which probability that there is nothing on the answer is null. */
  readonly nullThreshold: number
} & (
  | { readonly type: 'text' | 'date' | 'time' | 'datetime' }
  | ({ readonly type: 'number'; readonly unit?: string } & ExtractDecimals)
  | ({ readonly type: 'duration'; readonly unit: DurationUnit } & ExtractDecimals)
  | ({ readonly type: 'list'; readonly items: 'text' | 'number' | 'date' } & ExtractDecimals)
)

export type DurationUnit = 'seconds' | 'minutes' | 'hours' | 'days' | 'weeks' | 'months' | 'years'

export interface ExtractDecimals {
  readonly integer?: boolean
  /** At most this many, 0 to 6. */
  readonly decimals?: number
}

export interface Extracted {
  /** In the order of the fields. */
  readonly answers: readonly FieldAnswer[]
  /** Whether only the beginning of the state was read. */
  readonly truncated: boolean
  /** `promptTokens` has the state once, however many fields there are. */
  readonly usage: Usage
  readonly fingerprint?: string
}

export type FieldAnswer =
  | {
      /** Null: the state does not say it, or is ambiguous. */
      readonly value: string | number | readonly (string | number)[] | null
      /** The most likely value, also if `value` is null; a list has none. */
      readonly guess?: string | number
      /** The model's probability of the span that was read; absent: the engine does not know. */
      readonly confidence?: number
      /** How likely it is that the state does not say it. */
      readonly pNull?: number
      /** Where the state says it, in UTF-16 code units: `state.slice(start, end)`. */
      readonly span?: TextSpan
      /** Of each item of a list. */
      readonly items?: readonly { readonly confidence?: number; readonly span?: TextSpan }[]
    }
  /** The model would not answer. */
  | { readonly refused: true }

/** Questions that a stretch of one text answers. */
export interface PointCall {
  /** Of the request, for logs. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  readonly text: string
  readonly questions: readonly PointQuestion[]
}

export interface PointQuestion {
  /** Of the field in a document that would have the answer. */
  readonly name: string
  /** May be empty. */
  readonly instructions: string
  readonly isNumber: boolean
}

export interface PointedText {
  /** In the order of the questions; undefined: it is less sure than what this model writes would be. */
  readonly answers: readonly (PointedAnswer | undefined)[]
  /** `promptTokens` has the text once, however often it was read. */
  readonly usage: Usage
  readonly fingerprint?: string
}

export interface PointedAnswer extends TextSpan {
  /** How likely the text says it there. */
  readonly probability: number
  /** How likely it does not say it. */
  readonly nothing: number
}

export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** A text without a template, or a conversation as the model's template writes it, with what its request adds to that. */
export type TokenizeCall = { readonly model: string; readonly signal: AbortSignal; readonly caller?: string } & (
  | {
      readonly prompt: string
      /** Without what the tokenizer puts around a text. */
      readonly bare?: boolean
    }
  | (Pick<ChatCall, 'messages' | 'tools'> &
      Partial<Pick<ChatCall, 'templateOptions' | 'thinkingBudget' | 'output' | 'toolChoice' | 'describeSchema'>>)
)

export interface TokenizedText {
  readonly tokens: readonly number[]
  /** Each token as text, in the same order. */
  readonly texts: readonly string[]
}

export interface DetokenizeCall {
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  readonly tokens: readonly number[]
}

export interface TokenizerInfoCall {
  readonly model: string
  readonly signal: AbortSignal
}

/** What a request requires of its answer. All of it except the signal is plain data. */
export interface ConstrainCall {
  /** `chatcmpl-...`, for logs: the same as of the `ChatCall` that will use the grammars. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  /** Who sent it: callers take turns. */
  readonly caller: string
  readonly output: OutputFormat
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice
  /** The names in errors for the place of the format and for those of the tools' parameters. */
  readonly places: { readonly format: string; readonly tools: readonly string[] }
  /** Of the content; arguments of tools are always compact. */
  readonly layout?: SchemaSource['layout']
  /** Your own names for `format`. */
  readonly formats?: SchemaSource['formats']
  /** Only if strings of this answer must be quotes: free what is stored for it when the answer ends. */
  readonly quote?: QuoteSource
}

/** A compiled `ConstrainCall`. */
export interface Constrained {
  /** For `ChatCall.grammar`. */
  readonly grammar?: OutputGrammar
  /** For `ChatCall.toolGrammar`. */
  readonly toolGrammar?: OutputGrammar
  /** What schemas without `strict` require and nothing enforces, in words. */
  readonly notEnforced: readonly string[]
  /** What is wrong with an answer, in words; undefined if it is right, or if nothing is required. */
  faultOf(answer: ConstrainedAnswer): string | undefined | Promise<string | undefined>
}

/** One choice, whole. */
export interface ConstrainedAnswer {
  readonly text: string
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[]
  /** Whether it ended because of the token limit. */
  readonly cut: boolean
}

/** A part of a message. Parts other than text are sent only to models whose `capabilities` allow them. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  /** `url` may be a data URL. */
  | { readonly type: 'image'; readonly url: string; readonly detail?: string }
  /** In base64. */
  | { readonly type: 'audio'; readonly data: string; readonly format: string }

/** A text, or a list with more than text. */
export type Content = string | readonly ContentPart[]

/** All text in it. Parts are separated by a line break. */
export function textOf(content: Content): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** The texts that were joined into a content. */
export function textsJoined(content: string, lengths: readonly number[]): string[] {
  let start = 0
  return lengths.map((length) => {
    const text = content.slice(start, start + length)
    start += length + 1
    return text
  })
}

export type ChatMessage = SpokenMessage & {
  /** Where `content` is several texts with a line break between them: how long each is. */
  readonly joined?: readonly number[]
}

type SpokenMessage =
  | { readonly role: 'system' | 'user'; readonly content: Content; readonly name?: string }
  | {
      readonly role: 'assistant'
      readonly content: string
      /** What it thought before it said that. */
      readonly reasoning?: string
      readonly name?: string
      readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
    }
  | { readonly role: 'tool'; readonly content: string; readonly toolCallId: string }

export interface ToolSpec {
  readonly name: string
  readonly description?: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly strict: boolean
  /** For a tool that takes a text (its only parameter, `input`): what that text must be. */
  readonly input?: TextSource
}

export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string }

export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object'; readonly layout?: SchemaSource['layout']; readonly quote?: true }
  | {
      readonly type: 'json_schema'
      readonly name: string
      readonly description?: string
      readonly strict: boolean
      readonly schema: Readonly<Record<string, unknown>> | boolean
      /** Where the request says how its JSON is laid out. */
      readonly layout?: SchemaSource['layout']
      /** All strings are quotes, but those that the schema spells out. */
      readonly quote?: true
    }
  /** A text of a grammar that need not be JSON. */
  | { readonly type: 'grammar'; readonly source: TextSource }

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
  /** A thought, which is no part of the content. */
  | { readonly type: 'reasoning-delta'; readonly choice: number; readonly text: string }
  | {
      readonly type: 'tool-call-delta'
      readonly choice: number
      /** From 0, in the order in which calls begin. Several may be written side by side. */
      readonly index: number
      /** Of the call, with its first part; the service gives one to a call that has none of its own. */
      readonly id?: string
      /** Of the tool, with the first part of a call. */
      readonly name?: string
      readonly arguments: string
    }
  /** What a value rests on, as soon as it is whole: each of the document's is told of once, before `finish`. */
  | { readonly type: 'evidence'; readonly choice: number; readonly evidence: Evidence }
  | {
      readonly type: 'finish'
      readonly choice: number
      readonly reason: 'stop' | 'length' | 'tool_calls'
      /** Which text of the call's `stop` ended it. */
      readonly stop?: string
      /** All of the answer's tokens, the one that ended it included, where they are to be told. */
      readonly tokens?: readonly number[]
    }
  /** The prompt in tokens and as text, where they are to be told: before all other parts of its choices. */
  | {
      readonly type: 'prompt'
      /** The first of the choices that answer it; absent: 0. */
      readonly choice?: number
      readonly tokens: readonly number[]
      readonly text?: string
      /** Of each token, where they are to be told. */
      readonly logprobs?: readonly PromptLogprob[]
    }
  /**
   * May come more than once: the last one counts. One before all text, with the tokens of the prompt, lets a stream begin
   * with them. `fingerprint` becomes `system_fingerprint`.
   */
  | { readonly type: 'usage'; readonly usage: Usage; readonly fingerprint?: string }

/** How sure the model was of a value of a document (a string, a number, a boolean or null), and where it comes from. */
export interface Evidence {
  /** Its place in the document, as a JSON pointer (RFC 6901); empty if it is the document. */
  readonly pointer: string
  /** The model's probability of this value among all that the schema allows there; see docs/evidence.md. */
  readonly confidence: number
  /** The second most likely value, if there are few: those of an `enum`, booleans and null. */
  readonly runnerUp?: { readonly value: string | number | boolean | null; readonly probability: number }
  /** How likely it was that there is no value: null, or no such property. Absent: the schema requires a value. */
  readonly pNull?: number
  /** Where the conversation says it; absent: it was not found in the text. */
  readonly source?: Source
}

/** A span of the conversation's text. */
export interface Source {
  /** Index in the call's `messages`. */
  readonly message: number
  /** Index in the message's parts, or in the texts that were joined into its content; 0 if it is one text. */
  readonly part: number
  /** In UTF-16 code units: `text.slice(start, end)` says the value. */
  readonly start: number
  readonly end: number
}

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

/** Of a token of the prompt; null for the first, because no model says how likely it is. */
export interface PromptLogprob extends Omit<TokenLogprob, 'logprob'> {
  readonly logprob: number | null
}

/** Whole numbers, none below 0. */
export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  /** The part of `promptTokens` that came from an earlier request's cache. */
  readonly cachedTokens: number
  /** The part of `completionTokens` that was thinking; absent: none. */
  readonly reasoningTokens?: number
}

/** What a grammar must know of a tokenizer, such as the `Vocabulary` of `local-v1/structured`. */
export interface TokenVocabulary {
  readonly size: number
}

/** A set of texts, such as all documents that satisfy a schema: the `Grammar` of `local-v1/structured` is one. */
export interface OutputGrammar {
  /** What it was compiled from: an engine in another thread compiles it again there. */
  readonly source?: GrammarSource
  accepts(text: string): boolean
  start(vocabulary: TokenVocabulary): TokenConstraint
}

/** What a grammar is compiled from: plain data, which can be sent to another thread. */
export type GrammarSource = SchemaSource | TextSource

/** JSON documents that satisfy a schema. */
export interface SchemaSource {
  readonly schema: unknown
  /** @default true */
  readonly strict?: boolean
  /** @default 'compact' */
  readonly layout?:
    | 'compact'
    | 'spaced'
    | { readonly indent: number | '\t' }
    | { readonly whitespace: number; readonly of?: string }
  readonly fuel?: number
  /** Your own names for `format`: patterns, and names without a rule. */
  readonly formats?: Readonly<Record<string, string | true>>
  readonly quote?: QuoteSource
}

/** The texts from which strings with `x-quote` in the schema are quoted. */
export interface QuoteSource {
  readonly texts: readonly string[]
  /**
   * All strings, except those with an `enum` or a `const`.
   * @default false
   */
  readonly all?: boolean
}

/** Texts that need not be JSON. */
export type TextSource =
  /** A regular expression of ECMAScript (`u`) that the whole text matches; flags `i`, `s` and `v`. */
  | { readonly regex: string; readonly flags?: string }
  /** One of these. */
  | { readonly choice: readonly TextPart[] }
  /** One after the other. */
  | { readonly sequence: readonly TextPart[] }
  /** From `min` (0) to `max` (any number) times. */
  | { readonly repeat: TextPart; readonly min?: number; readonly max?: number }
  /** Any text in which none of these occurs. */
  | { readonly without: readonly string[] }
  /** Any text that ends where this first occurs. */
  | { readonly upTo: string }
  /** A JSON string, with quotes and escapes, of one of these; they may contain neither JSON nor tokens. */
  | { readonly quoted: TextPart }
  /** A token of the vocabulary without text, by its name. */
  | { readonly token: string }
  /** A grammar as Lark writes it; see docs/grammars.md for what is supported. */
  | { readonly lark: string }
  /** A grammar as llama.cpp writes it. */
  | { readonly gbnf: string }
  /** Free text with parts that begin with a trigger, as vLLM and XGrammar write them. */
  | { readonly structuralTag: unknown }

/** A fixed text, or a grammar. */
export type TextPart = string | GrammarSource

/** The state of one choice in its grammar. */
export interface TokenConstraint {
  /** True once the text is complete and nothing more can follow. */
  readonly done: boolean
  /** The fewest tokens with which the text can still be completed, the end token not counted. */
  readonly shortest: number
  /** Sets the bit of every token that may come next (end tokens too, when the text may stop here). */
  mask(into: Uint32Array): void
  /** The same, a few milliseconds at a time: `next` is called until it is done, and nothing else meanwhile. Absent: none takes longer. */
  maskInSlices?(into: Uint32Array): Iterator<void, void>
  accept(token: number): boolean
  /** The bytes that are certain to come next; empty if there is a choice. */
  forced(): Uint8Array
  /** From here on, allows only tokens after which the text can still end within `budget` tokens; false if it cannot. */
  closing(budget: number): boolean
  /** Removes the last `tokens` accepted tokens. */
  rollback(tokens: number): void
  clone(): TokenConstraint
}
