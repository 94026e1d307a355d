import {
  type Capabilities,
  type ChatCall,
  type DecideCall,
  type Decided,
  type DetokenizeCall,
  modelCannot,
  type Part,
  type PointCall,
  type PointedText,
  type TokenizeCall,
  type TokenizedText,
  type TokenModel,
  textOf,
  V1Error,
} from '../contract/index.js'
import { beginInSlices } from '../grammar/index.js'
import { inStage, inTurns, type JsonObject, mapped, PartQueue, type Slices } from '../platform/index.js'
import { AnswerDecoder } from './answer/answer.js'
import type { AnswerPlan } from './answer/plan.js'
import { checkCall } from './answer/plan.js'
import { PromptScores } from './answer/prompt-scores.js'
import { ReadLane } from './answer/reading-lane.js'
import { settledSampling } from './answer/sampling.js'
import type { ChatText } from './chat-text.js'
import { DECIDES } from './decide/capabilities.js'
import { decideByDecoder } from './decide/decide.js'
import { MadeDecider } from './decide/made.js'
import { thinkAbout } from './decide/think.js'
import type { DraftModel } from './drafts/draft-model.js'
import type { Drafting } from './drafts/drafting.js'
import type { Guesser } from './drafts/guesser.js'
import { HeadGuesser, hasHead } from './drafts/head-guesser.js'
import type { DraftMode } from './drafts/mode.js'
import { DraftSource } from './drafts/source.js'
import type { Read } from './evidence/others-read.js'
import type { Pointer } from './pointing/pointer.js'
import { Scheduler } from './run/scheduler.js'
import type { Slot } from './run/slot.js'
import { Grounds } from './sources/grounds.js'

export interface DecodeLoopOptions {
  /**
   * Steps that the model may run ahead of what was read back, where nothing depends on it. It hides the way back from a
   * GPU; on a processor there is none to hide. More steps let an abort or a newcomer wait longer.
   * @default 1
   */
  readonly stepsAhead?: number
  /**
   * Whether values that may stand in the prompt are guessed, several tokens a step, where a grammar holds the answer. What
   * an answer says does not hang on it.
   * @default 'gaining'
   */
  readonly drafts?: DraftMode
  /**
   * A smaller model of the same vocabulary, that guesses what this one says. It is closed with it. Without effect where
   * the model draws one token of an answer a step.
   * @default a head of the model's own, where it has one
   */
  readonly draftModel?: DraftModel
  /** What points at values of a text before they are written; it is closed with the model. */
  readonly pointer?: Pointer | undefined
}

/** Capabilities of every model that is decoded here; whether it thinks its template says, once it is there. */
export const DECODES: Capabilities = {
  chat: true,
  logprobs: true,
  seed: true,
  tools: true,
  grammar: true,
  images: false,
  audio: false,
  embeddings: false,
  sampling: true,
  tokens: true,
  infill: true,
  promptLogprobs: true,
  decisions: true,
  evidence: true,
  quotes: true,
}

/** Nothing but a conversation, cut into tokens without being answered. */
const PLAIN_CALL = {
  id: '',
  model: '',
  n: 1,
  messages: [],
  tools: [],
  stop: [],
  sampling: {},
  output: { type: 'text' },
  toolChoice: 'auto',
  parallelToolCalls: true,
  describeSchema: false,
} as const

/** Unread parts per choice above which an answer waits for its reader. */
const UNREAD = 64

/** The one way from a call to its parts: both on-device engines put it around their forward pass. */
export class DecodeLoop {
  readonly #model: TokenModel
  readonly #text: ChatText
  readonly #scheduler: Scheduler
  readonly #small: Guesser | undefined
  /** Of a model that is made for decisions. */
  readonly #made: MadeDecider | undefined
  readonly #pointer: Pointer | undefined
  /** Tokens that one sequence may have: of the model's context, what its cache can hold. */
  readonly #capacity: number
  readonly capabilities: Capabilities
  /** How often guesses of each kind were right; undefined where none are made. */
  readonly guesses: Drafting['counts'] | undefined

  constructor(model: TokenModel, text: ChatText, options: DecodeLoopOptions = {}) {
    const { stepsAhead = 1, drafts = 'gaining', draftModel, pointer } = options
    this.#model = model
    this.#text = text
    this.#capacity = Math.min(model.contextLength, model.freeTokens)
    this.#small = draftModel ?? (drafts !== 'never' && hasHead(model) ? new HeadGuesser(model) : undefined)
    this.#scheduler = new Scheduler(model, stepsAhead, drafts, this.#small)
    this.#made = text.made && new MadeDecider(text, text.made)
    this.#pointer = pointer
    this.guesses = this.#scheduler.guesses
    const { thoughtMarks, infill } = text
    const decodes = { ...DECODES, thinking: thoughtMarks !== undefined, infill: infill !== undefined }
    this.capabilities = model.rowLength === undefined ? decodes : DECIDES
  }

  /** The part of a model's listing that is about its text. */
  get metadata(): Readonly<Record<string, string | boolean>> {
    return {
      tool_format: this.#text.toolFormat.name,
      thinks: this.#text.thoughtMarks !== undefined,
      ...(this.#small instanceof HeadGuesser && { draft_head: true }),
    }
  }

  /** The error that made the model unusable, if one did: it must then be rebuilt. */
  get failure(): unknown {
    return this.#scheduler.failure ?? this.#pointer?.failure
  }

  /** No call is running. */
  get idle(): boolean {
    return this.#scheduler.idle
  }

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    call.signal.throwIfAborted()
    if (!this.capabilities.chat) throw modelCannot(call.model, 'cannot generate text')
    if (this.failure !== undefined) throw this.failure
    const grounds = call.evidence ? new Grounds(call) : undefined
    const worked = <T>(stage: 'prompt' | 'mask', work: Slices<T>) =>
      inTurns(inStage(stage, call.id, work), call.signal, call.caller)
    const prompt = await worked('prompt', this.#text.promptInSlices(call, this.#capacity))
    // The model may have been lost meanwhile.
    if (this.failure !== undefined) throw this.failure
    const opened = call.prompt === undefined && this.#text.endsInThought(prompt)
    const { vocabSize } = this.#model
    const room = checkCall(call, prompt.length, opened, this.#capacity, this.#text, vocabSize)
    const narrowed = await this.#pointer?.narrowed(call, room.spare)
    if (this.failure !== undefined) throw this.failure
    for (const grammar of [narrowed?.grammar ?? call.grammar, call.toolGrammar]) {
      if (grammar) await worked('mask', beginInSlices(grammar, this.#text.vocabulary))
    }
    const showsPrompt = call.returnTokens || call.promptLogprobs
    const text = showsPrompt ? await worked('prompt', this.#textOf(prompt)) : ''
    const wake = () => this.#scheduler.poke()
    const queue = new PartQueue<Part>(UNREAD * call.n, wake, call.n)
    const sampling = settledSampling(call, this.#text.recommended)
    const scores = call.promptLogprobs ? new PromptScores(call, prompt, this.#text.tokenizer, vocabSize) : undefined
    const tell = () =>
      queue.push({ type: 'prompt', tokens: prompt, text, ...(scores && { logprobs: scores.logprobs }) })
    if (scores ? scores.open === 0 : call.returnTokens) tell()
    const source = this.#sourceOf(call)
    const reads: Slot[] = []
    const read: Read = (tokens, settings) =>
      new Promise((resolve, reject) => {
        const lane = new ReadLane(tokens, settings, resolve, reject)
        reads.push(...this.#scheduler.add([lane], { first: slots[0]! }))
      })
    const settled = narrowed && {
      call: { ...call, grammar: narrowed.grammar },
      shortest: room.shortest + narrowed.longer,
    }
    const parts = { call, sampling, prompt, scores, grounds, read, wake, opened, source }
    const plan: AnswerPlan = { ...parts, text: this.#text, vocabSize, ...room, ...settled }
    const answers = Array.from({ length: call.n }, (_, choice) => new AnswerDecoder(plan, choice, queue))
    scores?.whenWhole(() => {
      tell()
      for (const answer of answers) answer.begin()
    })
    const slots = this.#scheduler.add(answers, { caller: call.caller })
    const abort = () => queue.fail(call.signal.reason)
    call.signal.addEventListener('abort', abort)
    try {
      call.signal.throwIfAborted()
      let begun = false
      for (let parts = await queue.take(); parts !== undefined; parts = await queue.take()) {
        for (const part of parts) {
          // Anthropic's streams begin with the length of the prompt, and who leaves has had it read all the same.
          if (!begun && part.type !== 'prompt') yield this.#usage(prompt, answers, 'of the prompt')
          begun ||= part.type !== 'prompt'
          if (narrowed) yield* narrowed.parts(part)
          else yield part
          call.signal.throwIfAborted()
        }
      }
      yield this.#usage(prompt, answers)
    } finally {
      call.signal.removeEventListener('abort', abort)
      await this.#scheduler.cancel([...slots, ...reads])
    }
  }

  async decide(call: DecideCall): Promise<Decided> {
    const decided = await this.#decided(call)
    return this.#pointer && call.thinkingBudget === undefined ? this.#pointer.decided(call, decided) : decided
  }

  async #decided(call: DecideCall): Promise<Decided> {
    call.signal.throwIfAborted()
    if (this.failure !== undefined) throw this.failure
    const made = this.#made
    if (call.calibrated && !made?.calibrated) {
      const order = call.order === 'average' ? " with the order 'average'" : ''
      const message = `No temperature was fitted for the model '${call.model}'${order}: leave 'calibrated' out, or see local-v1 calibrate.`
      throw new V1Error(400, message, { param: 'calibrated', code: 'not_calibrated' })
    }
    const parts = { model: this.#model, text: this.#text, scheduler: this.#scheduler, capacity: this.#capacity }
    if (made) return made.decide(call, parts)
    const budget = this.#text.thoughtMarks && call.thinkingBudget
    if (budget === undefined) return decideByDecoder(call, parts)
    return decideByDecoder(call, parts, (room) =>
      thinkAbout(call, Math.min(budget, room), (thinking) => this.generate(thinking)),
    )
  }

  async point(call: PointCall): Promise<PointedText | undefined> {
    call.signal.throwIfAborted()
    if (this.failure !== undefined) throw this.failure
    const pointed = await this.#pointer?.pointed(call)
    return pointed && { ...pointed, fingerprint: this.#model.fingerprint }
  }

  async tokenize(call: TokenizeCall): Promise<TokenizedText> {
    const tokens = await inTurns(
      inStage('prompt', call.model, this.#text.promptInSlices({ ...PLAIN_CALL, ...call })),
      call.signal,
      call.caller,
    )
    const listed = 'prompt' in call && call.bare ? this.#bare(tokens, call.prompt) : tokens
    const names = mapped(listed, (token) => this.#text.tokenizer.shown(token))
    return { tokens: listed, texts: await inTurns(inStage('prompt', call.model, names), call.signal, call.caller) }
  }

  /** Without the mark of a beginning, unless the text itself has it. */
  #bare(tokens: readonly number[], prompt: string): readonly number[] {
    const { opening } = this.#text.tokenizer
    const isOurs = opening !== undefined && !prompt.startsWith(this.#text.tokenizer.shown(opening))
    return isOurs ? tokens.slice(1) : tokens
  }

  detokenize({ model, tokens, signal, caller }: DetokenizeCall): Promise<string> {
    return inTurns(inStage('prompt', model, this.#textOf(tokens)), signal, caller)
  }

  *#textOf(tokens: readonly number[]): Slices<string> {
    const { tokenizer } = this.#text
    const unknown = tokens.find((token) => token >= tokenizer.size)
    if (unknown !== undefined) {
      throw new V1Error(400, `Invalid 'tokens': ${unknown} is not a token of this model.`, {
        param: 'tokens',
        code: 'invalid_value',
      })
    }
    const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
    const pieces = yield* mapped(tokens, (token) =>
      tokenizer.special.has(token)
        ? utf8.decode() + tokenizer.name(token)
        : utf8.decode(tokenizer.bytes(token), { stream: true }),
    )
    return pieces.join('') + utf8.decode()
  }

  get tokenizerInfo(): JsonObject {
    return this.#text.info
  }

  /** Fails what runs, because the device under the model is gone; nothing is left to free. */
  abandon(error: unknown): void {
    this.#scheduler.stop(error)
    void this.#pointer?.stop(error)
  }

  /** Fails what runs and frees the model. */
  async close(): Promise<void> {
    const unloaded = new V1Error(503, 'The model was unloaded.', { code: 'model_unloaded', retryAfter: 1 })
    this.#scheduler.stop(unloaded)
    await Promise.all([this.#scheduler.stopped(), this.#pointer?.stop(unloaded)])
    await this.#small?.close()
    await this.#model.close()
  }

  /** The texts that values of an answer may be guessed from. */
  #sourceOf(call: ChatCall): (() => DraftSource) | undefined {
    const guided = call.grammar !== undefined || call.tools.length > 0
    if (!guided || !this.guesses) return undefined
    let source: DraftSource | undefined
    return () => {
      source ??= new DraftSource(
        typeof call.prompt === 'string' ? [call.prompt] : call.messages.map(({ content }) => textOf(content)),
      )
      return source
    }
  }

  #usage(prompt: readonly number[], answers: readonly AnswerDecoder[], part?: 'of the prompt'): Part {
    let [completionTokens, reasoningTokens] = [0, 0]
    for (const { log, thought } of part ? [] : answers) {
      completionTokens += log.generated
      // Without the marks of the thought.
      reasoningTokens += thought?.tokens ?? 0
    }
    const cachedTokens = answers[0]?.cachedTokens ?? 0
    const usage = {
      promptTokens: prompt.length,
      completionTokens,
      cachedTokens,
      ...(reasoningTokens > 0 && { reasoningTokens }),
    }
    return { type: 'usage', usage, fingerprint: this.#model.fingerprint }
  }
}
