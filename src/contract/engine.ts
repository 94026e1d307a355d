/**
 * The contract between the service and whatever runs a model. It imports nothing, so that an engine can be written
 * against this file alone. `generate` is the only path to text: a non-streaming answer is the collected stream.
 *
 * This is version 2. An engine of version 1 works as it is: it is asked for nothing that it has not said it can.
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
  /** What it can and cannot do. The service refuses the rest with a 400 that names the field. */
  readonly capabilities?: Capabilities
  /** Shown in `/v1/models` as it is: the device and why it was chosen, sizes, why a model cannot run here. */
  readonly metadata?: Readonly<Record<string, string | number | boolean | null>>
}

/** Not said, a model can what every model could before this was asked: all but what reads `false` below. */
export interface Capabilities {
  /** Generate text at all: an encoder cannot. */
  readonly chat?: boolean
  readonly logprobs?: boolean
  readonly seed?: boolean
  readonly tools?: boolean
  /** Keep to a schema: JSON of any kind. */
  readonly grammar?: boolean
  /** Keep to a grammar that is none of JSON: `guided_regex`, `guided_choice`, `grammar`, structural tags. */
  readonly otherGrammars?: boolean
  /** Think before it speaks, where it is asked to. */
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
   * Say to which of its own classes texts belong: `classify`.
   * @default false
   */
  readonly classify?: boolean
  /**
   * Answer typed questions with probabilities: `decide`.
   * @default false
   */
  readonly decisions?: boolean
  /**
   * Tell those probabilities by a fitted temperature, where it is asked to: `calibrated`. Absent: it may, or refuse.
   */
  readonly calibrated?: boolean
  /**
   * Draw as servers of open models do: `topK`, `minP`, `typicalP`, `repetitionPenalty` and DRY, `minTokens`, `stopTokens`, `ignoreEnds`.
   * @default false
   */
  readonly sampling?: boolean
  /**
   * Tell the tokens of prompt and answer, and go on from tokens.
   * @default false
   */
  readonly tokens?: boolean
  /**
   * Fill a gap between two texts: `suffix`.
   * @default false
   */
  readonly infill?: boolean
  /**
   * Tell how likely each token of a prompt is, and stop there: `echo` with `logprobs`, `max_tokens: 0`.
   * @default false
   */
  readonly promptLogprobs?: boolean
  /**
   * Tell of each value of a document how sure the model is of it, and where it stands in the conversation: `evidence`.
   * @default false
   */
  readonly evidence?: boolean
  /**
   * Keep strings to what the conversation says: `quote`, and `x-quote` in schemas.
   * @default false
   */
  readonly quotes?: boolean
  /**
   * Answer typed fields of a text itself: `extract`. Where an engine does not, fields are answered by `generate`.
   * @default false
   */
  readonly extractions?: boolean
}

export interface Engine {
  /**
   * Of this contract that it was written for.
   * @default 1
   */
  readonly version?: 1 | 2
  /** What can be asked for now. Read on every request: an engine may add and remove models while it runs. */
  readonly models: readonly ModelInfo[]
  /** Settles once `models` is whole, for an engine that must look around first. The service waits for it. */
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
  /** How likely each class of the model's own is for each input, for models whose `capabilities` say so. */
  classify?(call: ClassifyCall): Promise<Classified>
  /** How likely each option of each question is, for models whose `capabilities` say so. */
  decide?(call: DecideCall): Promise<Decided>
  /** What a text says of each field, for models whose `capabilities` say `extractions`. */
  extract?(call: ExtractCall): Promise<Extracted>
  tokenize?(call: TokenizeCall): Promise<TokenizedText>
  /** The text of tokens. */
  detokenize?(call: DetokenizeCall): Promise<string>
  /** What a model's `tokenizer_config.json` says, its chat template among it, whatever format it came in. */
  tokenizerInfo?(call: TokenizerInfoCall): Promise<Readonly<Record<string, unknown>>>
  /**
   * Compiles what answers have to be, for an engine that computes in another thread than its service: there, too, so that
   * the thread that answers HTTP computes nothing. Refusals are a `V1Error` 400. Absent, or undefined for this model: the
   * service does it itself.
   */
  constrain?(call: ConstrainCall): Promise<Constrained | undefined>
  /**
   * Finds out from a model's description what it can, so that `capabilities` say so before its weights are here; settles
   * at once where that is known. The service asks before it holds a request against them.
   */
  learn?(model: string, signal: AbortSignal): Promise<void>
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
  /** To be gone on from as it stands, as text or tokens, instead of `messages`, which are then none. */
  readonly prompt?: string | readonly number[]
  readonly signal: AbortSignal
  /** Whose it is: what is done for one is done in turns with what is done for others. Absent: nobody says. */
  readonly caller?: string
  /** How many independent answers. */
  readonly n: number
  /** What stands behind the gap that the answer fills; `prompt`, a text, stands before it. */
  readonly suffix?: string
  /** Upper bound of generated tokens per choice; absent: as far as the context reaches. 0 only for `promptLogprobs`. */
  readonly maxTokens?: number
  readonly stop: readonly string[]
  /** Before so many tokens nothing ends an answer. */
  readonly minTokens?: number
  /** Tokens that end an answer, as the model's own end tokens do. */
  readonly stopTokens?: readonly number[]
  /** The model's own end tokens do not end an answer. */
  readonly ignoreEnds?: boolean
  /** The tokens of prompt and answer are to be told. */
  readonly returnTokens?: boolean
  readonly sampling: Sampling
  /** Absent: none. 0: that of the sampled token only. */
  readonly topLogprobs?: number
  /** Log probabilities have the numbers of tokens, `token_id:123`, in place of texts, which several tokens may share. */
  readonly tokensAsIds?: boolean
  /** The tokens of `prompt` are told too, with their log probabilities and `topLogprobs` others each. */
  readonly promptLogprobs?: boolean
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
  /** The most tokens that each answer may think, where its model thinks; absent: by the effort in `templateOptions`. */
  readonly thinkingBudget?: number
  /** Whether the engine may put the schema into the prompt in a form that suits the model. */
  readonly describeSchema: boolean
  /** What each value of the document rests on is to be told, by `evidence` parts; only where `output` is a schema. */
  readonly evidence?: boolean
}

/** What a request says. What it does not is for the engine to choose: as the model's makers recommend, else as usual. */
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
  /** Absent: the engine draws one. */
  readonly seed?: number
  /** Only so many of the likeliest tokens, and what is as likely as the last of them; 0, and usual: all. */
  readonly topK?: number
  /** Only tokens at least so likely as this share of the likeliest, after the temperature; 0, and usual: all. */
  readonly minP?: number
  /**
   * Locally typical sampling: of those that `topK` leaves, before the temperature, only tokens whose surprise is nearest to
   * the one that is to be expected, until they hold more than this share of the mass. 1, and usual: all.
   */
  readonly typicalP?: number
  /** Logits of tokens that prompt or answer hold are divided by it where they are above 0, else multiplied; usual: 1. */
  readonly repetitionPenalty?: number
  /**
   * DRY: this times `dryBase` to the power of how much longer than `dryAllowedLength` the stretch is that a token would
   * repeat, is taken off its logit. Usual: 0, which is nothing.
   */
  readonly dryMultiplier?: number
  /** Usual: 1.75. */
  readonly dryBase?: number
  /** Usual: 2. */
  readonly dryAllowedLength?: number
  /** In how many of the last tokens of prompt and answer stretches are looked for; -1, and usual: all. */
  readonly dryPenaltyLastN?: number
}

export interface EmbedCall {
  /** `embd-...`, for logs. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  readonly inputs: readonly (string | readonly number[])[]
  /** How long vectors shall be; absent: as the model makes them. */
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
  /** In the order of the inputs; of each class, between 0 and 1. Their sum is 1 where a text belongs to one class. */
  readonly probabilities: readonly ArrayLike<number>[]
  /** What the classes are called, in their order; absent: the engine does not know. */
  readonly labels?: readonly string[]
  readonly promptTokens: number
}

/** Questions about one state, each with its options; nothing is said. */
export interface DecideCall {
  /** `dec-...`, for logs. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  readonly caller?: string
  /** What is judged: a text, or a conversation, which is read and not gone on with. */
  readonly state: string | readonly ChatMessage[]
  readonly questions: readonly DecideQuestion[]
  /**
   * `average`: each question is asked with its options in several orders, and the mean is told, so that the order in which
   * they are given changes nothing.
   */
  readonly order: 'given' | 'average'
  /** The probabilities as the model's fitted temperature has them; refused where none was fitted. */
  readonly calibrated: boolean
  /** Think about the state before anything is asked, so many tokens at most; absent: not at all. */
  readonly thinkingBudget?: number
}

export interface DecideQuestion {
  /** A `predicate` has two options: that it is true, that it is not. The options of a `score` are levels, the lowest first. */
  readonly type: 'predicate' | 'choice' | 'score'
  /** What its asker calls it, which some models that are made for decisions are told. */
  readonly name?: string | null
  /** What is asked, or the statement that may be true. */
  readonly instructions: Content
  /** One at least. What an engine cannot tell apart must not be asked: no two of them have the same text. */
  readonly options: readonly DecideOption[]
}

export interface DecideOption {
  /** What is said to choose it. */
  readonly text: string
  readonly description?: string
}

export interface Decided {
  /** In the order of the questions. */
  readonly answers: readonly Decision[]
  /** `promptTokens` has the state as often as it was read: once, but by a model that is made for it with each question. */
  readonly usage: Usage
  readonly fingerprint?: string
  /** By which the probabilities were calibrated; absent: they are the model's own. */
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
  /** `YYYY-MM-DD`: what "tomorrow" and dates without a year are told from. */
  readonly referenceDate?: string
  /** Of the text: it settles `03/04/2026` and `1.250`. */
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
  /** At most so many, 0 to 6. */
  readonly decimals?: number
}

export interface Extracted {
  /** In the order of the fields. */
  readonly answers: readonly FieldAnswer[]
  /** Only a beginning of the state was read. */
  readonly truncated: boolean
  /** `promptTokens` has the state once, however many fields there are. */
  readonly usage: Usage
  readonly fingerprint?: string
}

export type FieldAnswer =
  | {
      /** Null: the state does not say it, or not in one way. */
      readonly value: string | number | readonly (string | number)[] | null
      /** What is likeliest, also where `value` is null; of a list none. */
      readonly guess?: string | number
      /** The model's probability of the stretch that was read; absent: the engine does not know. */
      readonly confidence?: number
      /** How likely it is that the state says nothing of it. */
      readonly pNull?: number
      /** Where the state says it, in UTF-16 code units: `state.slice(start, end)`. */
      readonly span?: TextSpan
      /** Of each item of a list. */
      readonly items?: readonly { readonly confidence?: number; readonly span?: TextSpan }[]
    }
  /** The model would not answer. */
  | { readonly refused: true }

export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** A text as it stands, or a conversation as the model's template writes it. */
export type TokenizeCall = { readonly model: string; readonly signal: AbortSignal; readonly caller?: string } & (
  | {
      readonly prompt: string
      /** Without what the tokenizer puts around a text. */
      readonly bare?: boolean
    }
  | {
      readonly messages: readonly ChatMessage[]
      readonly tools: readonly ToolSpec[]
      readonly templateOptions?: Readonly<Record<string, unknown>>
    }
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

/** What a request demands of its answer. All of it but the signal is plain data. */
export interface ConstrainCall {
  /** `chatcmpl-...`, for logs: that of the call which has its grammars, and of no other that runs meanwhile. */
  readonly id: string
  readonly model: string
  readonly signal: AbortSignal
  /** For whom: work of one is done in turns with that of others. */
  readonly caller: string
  readonly output: OutputFormat
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice
  /** What errors call the place of the format, and those of the tools' parameters. */
  readonly places: { readonly format: string; readonly tools: readonly string[] }
  /** Of contents; arguments of tools are compact. */
  readonly layout?: SchemaSource['layout']
  /** Own ones. */
  readonly formats?: SchemaSource['formats']
  /** Only where strings of this answer are to be quotes: what is kept for it is not to be kept longer than it is. */
  readonly quote?: QuoteSource
}

/** It, compiled. */
export interface Constrained {
  /** For `ChatCall.grammar`. */
  readonly grammar?: OutputGrammar
  /** For `ChatCall.toolGrammar`. */
  readonly toolGrammar?: OutputGrammar
  /** What lenient schemas ask for and nothing enforces, in words. */
  readonly notEnforced: readonly string[]
  /** What is wrong with an answer, in words; undefined for one that is right, or that nothing is asked of. */
  faultOf(answer: ConstrainedAnswer): string | undefined | Promise<string | undefined>
}

/** One choice, whole. */
export interface ConstrainedAnswer {
  readonly text: string
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[]
  /** It ended for want of tokens. */
  readonly cut: boolean
}

/** A part of a message. What is no text comes only to models whose `capabilities` say that they take it. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  /** `url` may be a data URL. */
  | { readonly type: 'image'; readonly url: string; readonly detail?: string }
  /** In base64. */
  | { readonly type: 'audio'; readonly data: string; readonly format: string }

/** A text, or a list that holds more than text. */
export type Content = string | readonly ContentPart[]

/** All that is text in it. Parts are separate things said; without a break their words would run together. */
export function textOf(content: Content): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** The texts that a content was joined of. */
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
  /** It takes a text, the one property `input` of its parameters, and this is what the text must be. */
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
      readonly index: number
      readonly id?: string
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
  /** May come more than once: the last one counts. `fingerprint` becomes `system_fingerprint`. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly fingerprint?: string }

/** What a value of a document rests on: a string, a number, a boolean or null, wherever it stands. */
export interface Evidence {
  /** Where it stands in the document, as RFC 6901 writes it; empty where it is the document. */
  readonly pointer: string
  /** The model's probability of this value among all that the schema admits there; see docs/evidence.md. */
  readonly confidence: number
  /** The likeliest of the others, where there are few: those of an `enum`, booleans and null. */
  readonly runnerUp?: { readonly value: string | number | boolean | null; readonly probability: number }
  /** How likely it was that there is no value: null, or a property that is left out. Absent: the schema wants one. */
  readonly pNull?: number
  /** Where the conversation says it; absent: nowhere, as far as can be found by its text. */
  readonly source?: Source
}

/** A stretch of the conversation's text. */
export interface Source {
  /** In the call's `messages`. */
  readonly message: number
  /** In the message's parts, or the texts that its content was joined of; 0 where it is one text. */
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

/** Of a token of the prompt; no model says how likely the first is: null. */
export interface PromptLogprob extends Omit<TokenLogprob, 'logprob'> {
  readonly logprob: number | null
}

export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  /** The part of `promptTokens` that came from an earlier request's cache. */
  readonly cachedTokens: number
  /** The part of `completionTokens` that went into thoughts; absent: none. */
  readonly reasoningTokens?: number
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
  /** Own ones: patterns, and names that only describe. */
  readonly formats?: Readonly<Record<string, string | true>>
  readonly quote?: QuoteSource
}

/** What strings are stretches of: those of which the schema says `x-quote`. */
export interface QuoteSource {
  readonly texts: readonly string[]
  /**
   * All strings, but those that an `enum` or a `const` spells out.
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
  /** One behind the other. */
  | { readonly sequence: readonly TextPart[] }
  /** From `min` (0) to `max` (any number) times. */
  | { readonly repeat: TextPart; readonly min?: number; readonly max?: number }
  /** Any text in which none of these occurs. */
  | { readonly without: readonly string[] }
  /** Any text that ends where this first occurs. */
  | { readonly upTo: string }
  /** A JSON string, quotes and escapes included, that says one of these; they hold neither JSON nor tokens. */
  | { readonly quoted: TextPart }
  /** A token of the vocabulary that stands for no text, by its name. */
  | { readonly token: string }
  /** A grammar as Lark writes it; see docs/grammars.md for what of it is understood. */
  | { readonly lark: string }
  /** A grammar as llama.cpp writes it. */
  | { readonly gbnf: string }
  /** Free text with parts that a trigger begins, as vLLM and XGrammar write them. */
  | { readonly structuralTag: unknown }

/** A text as it is, or what stands in its place. */
export type TextPart = string | GrammarSource

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
