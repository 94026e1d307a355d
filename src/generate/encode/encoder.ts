import {
  type Capabilities,
  type ClassForm,
  type Classified,
  type ClassifyCall,
  type DecideCall,
  type Decided,
  type DecisionForm,
  type DetokenizeCall,
  type EmbedCall,
  type Embeddings,
  type RankCall,
  type Ranking,
  type TextTokens,
  type TokenizeCall,
  type TokenizedText,
  V1Error,
  type VectorModel,
} from '../../contract/index.js'
import { exp, inStage, inTurns, type JsonObject, mapped, type Slices, softmax } from '../../platform/index.js'
import { DECIDES, NO_CHAT } from '../decide/capabilities.js'
import { VectorLine } from '../run/line.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { Decider } from './decide.js'
import { JUDGE, VERDICTS } from './judge.js'

/** Capabilities of models that make vectors, that make scores, and that know classes: a score is one class. */
export const EMBEDS: Capabilities = { ...NO_CHAT, embeddings: true, rerank: false, classify: false }
export const RANKS: Capabilities = { ...NO_CHAT, embeddings: false, rerank: true, classify: true }
export const CLASSIFIES: Capabilities = { ...NO_CHAT, embeddings: false, rerank: false, classify: true }

/** Tokens beyond its room to which a text is counted: who wrote a little too much is told how much it was. */
const COUNTED = 8192

export interface EncoderForm {
  readonly task: 'embed' | 'rank' | 'classify' | 'decide'
  /** Stands before every text. @default nothing */
  readonly prompt?: string
  /** Pairs are put to it as a question: see `judge.ts`. */
  readonly judges?: boolean
  /** The classes of its head, where it has one. */
  readonly classes?: ClassForm
  /** How it is asked, where it decides. */
  readonly decision?: DecisionForm
}

const CAN: Readonly<Record<EncoderForm['task'], Capabilities>> = {
  embed: EMBEDS,
  rank: RANKS,
  classify: CLASSIFIES,
  decide: DECIDES,
}

/** The one way from a call to its vectors or scores. */
export class Encoder {
  readonly #model: VectorModel
  readonly #tokenizer: Tokenizer
  readonly #line: VectorLine
  readonly #prompt: string
  readonly #judges: boolean
  readonly #classes: ClassForm | undefined
  readonly #decider: Decider | undefined
  readonly capabilities: Capabilities

  constructor(model: VectorModel, tokenizer: Tokenizer, form: EncoderForm) {
    const { task, prompt = '', judges = false, classes, decision } = form
    this.#model = model
    this.#tokenizer = tokenizer
    this.#prompt = prompt
    this.#judges = judges
    this.#classes = judges ? { labels: VERDICTS.slice(0, 1), several: false } : classes
    this.#decider = decision && new Decider(model, tokenizer, decision)
    this.capabilities = CAN[task]
    this.#line = new VectorLine(model)
  }

  /** The error that made the model unusable, if one did: it must then be rebuilt. */
  get failure(): unknown {
    return this.#line.failure
  }

  async embed(call: EmbedCall): Promise<Embeddings> {
    const { dimensions } = call
    const { size } = this.#model
    if (dimensions !== undefined && dimensions > size) throw tooManyDimensions(dimensions, size)
    const { vectors, promptTokens } = await this.#vectors(call)
    return { vectors: units(vectors, dimensions ?? size), promptTokens }
  }

  async classify(call: ClassifyCall): Promise<Classified> {
    const { labels = [], several = false } = this.#classes ?? {}
    const { vectors, promptTokens } = await this.#vectors(call)
    const apart = several || this.#model.size === 1
    return { probabilities: vectors.map(apart ? eachByItself : (logits) => softmax(logits)), labels, promptTokens }
  }

  /** Of each text as the model makes it. */
  async #vectors(call: EmbedCall | ClassifyCall) {
    const { inputs, signal, caller } = call
    const place = (i: number) => (inputs.length === 1 ? 'input' : `input[${i}]`)
    const texts = await this.#read(call, inputs.length, (i) => this.#alone(inputs[i]!, place(i)))
    return { vectors: await this.#line.run(texts, signal, caller), promptTokens: tokensOf(texts) }
  }

  async rank(call: RankCall): Promise<Ranking> {
    const { id, query, documents, signal, caller } = call
    const queryTokens = this.#judges ? [] : await inTurns(inStage('prompt', id, this.#plain(query)), signal, caller)
    const texts = await this.#read(call, documents.length, (i) =>
      this.#judges
        ? this.#question(query, documents[i]!, `documents[${i}]`)
        : this.#pair(queryTokens, documents[i]!, `documents[${i}]`),
    )
    const scores = await this.#line.run(texts, signal, caller)
    return { scores: scores.map(([logit]) => sigmoid(logit!)), promptTokens: tokensOf(texts) }
  }

  /** Of a model whose capabilities say so. */
  decide(call: DecideCall): Promise<Decided> {
    return this.#decider!.decide(call, this.#line)
  }

  async tokenize(call: TokenizeCall): Promise<TokenizedText> {
    if (!('prompt' in call)) {
      const message = `The model '${call.model}' cannot chat: send a prompt instead of messages.`
      throw new V1Error(400, message, { param: 'messages', code: 'unsupported_parameter' })
    }
    const whole = await inTurns(
      inStage('prompt', call.model, this.#alone(call.prompt, 'prompt', Number.POSITIVE_INFINITY)),
      call.signal,
      call.caller,
    )
    const { before, after } = this.#tokenizer.surround
    const tokens = call.bare ? whole.tokens.slice(before.length, whole.tokens.length - after.length) : whole.tokens
    const names = mapped(tokens, (id) => this.#tokenizer.shown(id))
    return { tokens, texts: await inTurns(inStage('prompt', call.model, names), call.signal, call.caller) }
  }

  async detokenize({ model, tokens, signal, caller }: DetokenizeCall): Promise<string> {
    this.#checkTokens(tokens, 'tokens')
    return inTurns(inStage('prompt', model, this.#tokenizer.decodeInSlices(tokens)), signal, caller)
  }

  get tokenizerInfo(): JsonObject {
    return this.#tokenizer.info
  }

  /** Fails what runs, because the device under the model is gone; nothing is left to free. */
  abandon(error: unknown): void {
    this.#line.stop(error)
  }

  /** Fails what runs and frees the model. */
  async close(): Promise<void> {
    this.#line.stop(new V1Error(503, 'The model was unloaded.', { code: 'model_unloaded', retryAfter: 1 }))
    await this.#line.stopped()
    await this.#model.close()
  }

  async #read(
    { id, signal, caller }: EmbedCall | RankCall | ClassifyCall,
    count: number,
    one: (i: number) => Slices<TextTokens>,
  ): Promise<TextTokens[]> {
    const texts: TextTokens[] = []
    const all = function* (): Slices<void> {
      for (let i = 0; i < count; i++) {
        texts.push(yield* one(i))
        yield
      }
    }
    await inTurns(inStage('prompt', id, all()), signal, caller)
    return texts
  }

  /** A text with what its tokenizer puts around it, control tokens in it standing for themselves; or tokens as they are. */
  *#alone(input: string | readonly number[], place: string, most = this.#model.contextLength): Slices<TextTokens> {
    if (typeof input !== 'string') {
      this.#checkTokens(input, place)
      if (input.length > most) throw tooLong(place, most, input.length)
      return { tokens: input }
    }
    const { before, after } = this.#tokenizer.surround
    const tokens = [...before]
    for (const [index, section] of this.#tokenizer.sections(this.#prompt + input).entries()) {
      if (typeof section === 'number') tokens.push(section)
      else for (const id of yield* this.#tokenizer.encodeInSlices(section, index, most + COUNTED)) tokens.push(id)
      if (tokens.length > most + COUNTED) throw tooLong(place, most, tokens.length, true)
    }
    tokens.push(...after)
    if (tokens.length > most) throw tooLong(place, most, tokens.length)
    return { tokens }
  }

  /** Neither text's words are control tokens, whatever they spell: whoever wrote a document does not decide its score. */
  *#pair(query: readonly number[], document: string, place: string): Slices<TextTokens> {
    const { before, between, after, secondType } = this.#tokenizer.surround.pair
    const most = this.#model.contextLength
    const second = yield* this.#plain(document)
    const first = [...before, ...query, ...between]
    const tokens = [...first, ...second, ...after]
    if (tokens.length > most)
      throw tooLong(place, most, tokens.length, second.length > most + COUNTED, ' with the query')
    const types = tokens.map((_, i) => (i < first.length ? 0 : secondType))
    return secondType === 0 ? { tokens } : { tokens, types }
  }

  *#question(query: string, document: string, place: string): Slices<TextTokens> {
    const [before, after] = [JUDGE.before, JUDGE.after].map((text) => this.#tokenizer.encode(text))
    const question = yield* this.#plain(JUDGE.question(query, document))
    const tokens = [...before!, ...question, ...after!]
    const most = this.#model.contextLength
    if (tokens.length > most)
      throw tooLong(place, most, tokens.length, question.length > most + COUNTED, ' with the query')
    return { tokens }
  }

  *#plain(text: string): Slices<readonly number[]> {
    return yield* this.#tokenizer.encodeInSlices(text, 0, this.#model.contextLength + COUNTED)
  }

  #checkTokens(tokens: readonly number[], place: string): void {
    const unknown = tokens.find((token) => token >= this.#tokenizer.size)
    if (unknown === undefined) return
    const message = `Invalid '${place}': ${unknown} is not a token of this model.`
    throw new V1Error(400, message, { param: place, code: 'invalid_value' })
  }
}

const tokensOf = (texts: readonly TextTokens[]): number => texts.reduce((sum, { tokens }) => sum + tokens.length, 0)

const sigmoid = (logit: number): number => 1 / (1 + exp(-logit))
const eachByItself = (logits: Float32Array): number[] => Array.from(logits, sigmoid)

/** The beginnings of vectors, each of length one: all in one buffer, which goes to another thread as one. */
function units(vectors: readonly Float32Array[], size: number): Float32Array[] {
  const all = new Float32Array(vectors.length * size)
  return vectors.map((vector, i) => {
    const unit = all.subarray(i * size, (i + 1) * size)
    unit.set(vector.subarray(0, size))
    let squares = 0
    for (const value of unit) squares += value * value
    if (squares > 0) for (let k = 0; k < size; k++) unit[k] = unit[k]! / Math.sqrt(squares)
    return unit
  })
}

function tooLong(place: string, most: number, tokens: number, least = false, more = ''): V1Error {
  const resulted = `${least ? 'more than ' : ''}${tokens} tokens`
  const message = `This model's maximum context length is ${most} tokens. However, '${place}'${more} resulted in ${resulted}. Please reduce its length.`
  return new V1Error(400, message, { param: place, code: 'context_length_exceeded' })
}

function tooManyDimensions(dimensions: number, size: number): V1Error {
  const message = `Unsupported value: 'dimensions' is ${dimensions}, and vectors of this model have ${size} numbers.`
  return new V1Error(400, message, { param: 'dimensions', code: 'unsupported_value' })
}
