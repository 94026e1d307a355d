/**
 * What a model that points knows of a text before anything is written about it: of a document the values that it is sure of,
 * which are settled, the others being left to the model that writes; of a decision how likely each option is.
 */
import {
  type ChatCall,
  type ChatMessage,
  type DecideCall,
  type Decided,
  type Evidence,
  type OutputGrammar,
  type Part,
  type PointCall,
  type PointedAnswer,
  type PointedText,
  type PointingModel,
  type SchemaSource,
  type TextSpan,
  textOf,
} from '../../contract/index.js'
import { fromSourceInSlices, GrammarError, SchemaError } from '../../grammar/index.js'
import { inStage, inTurns, isRecord, jsonPointer, myTurn, readValue } from '../../platform/index.js'
import type { ChatText } from '../chat-text.js'
import { VectorLine } from '../run/line.js'
import { Chosen } from './chosen.js'
import { decidedByBoth, isPointedAt } from './decided-by-both.js'
import { type LaidText, laidOut, type PointingMarks } from './layout.js'
import { asField, narrowedSchema, type PointedQuestion, pointedQuestions } from './questions.js'
import { Scores } from './scores.js'
import { settledGrammar } from './settled-grammar.js'

/** Of the texts that models which point were taught with. */
const LANGUAGE = { language: 'en' } as const
/** From here on a value is settled: of those below, the model that writes has as many right. */
const SURE = 0.95
/** The same of an option in words, of which it has more right. */
const SURE_OF_OPTION = 0.7

/** The same of one of the fields of a text, which are written one by one: a number, and any other stretch. */
const SURE_OF_NUMBER = 0.5
const SURE_OF_STRETCH = 0.8

/** What is settled at a place of a document: one value, or that there is none. */
interface Pointed {
  readonly values: readonly Value[]
  readonly probability: number
  /** How likely there is none, where there may be none. */
  readonly nothing: number | undefined
  /** Of few values, the likeliest of the others. */
  readonly runnerUp: Evidence['runnerUp']
}

export interface NarrowedCall {
  readonly grammar: OutputGrammar
  /** How many tokens the shortest document has more than without what was settled. */
  readonly longer: number
  /** A part of the answer, with what only the one that points knows of it. */
  parts(part: Part): Iterable<Part>
}

type Value = string | number | boolean
type WordsOf = (from: number, to: number) => string | undefined
/** Whose request it is. */
type Sender = Pick<ChatCall, 'id' | 'signal' | 'caller'>
type Worded = Pick<PointedQuestion, 'text' | 'options'>

export class Pointer {
  readonly #of: PointingModel
  readonly #text: ChatText
  readonly #line: VectorLine
  readonly #marks: PointingMarks | undefined

  constructor(of: PointingModel, text: ChatText) {
    this.#of = of
    this.#text = text
    this.#line = new VectorLine(of.model)
    const [user, assistant, end] = ['<|user|>', '<|assistant|>', '<|end|>'].map((name) => text.tokenizer.idOf(name))
    if (user !== undefined && assistant !== undefined && end !== undefined) this.#marks = { user, assistant, end }
  }

  /** What made the model unusable, if anything did. */
  get failure(): unknown {
    return this.#line.failure
  }

  /** Fails whatever runs, and waits for what is computed. */
  async stop(error: unknown): Promise<void> {
    this.#line.stop(error)
    await this.#line.stopped()
  }

  /**
   * `spare`: tokens beyond the fewest that there is room for. Undefined: the call asks for something else than values of one
   * text, or nothing was pointed at.
   */
  async narrowed(call: ChatCall, spare: number): Promise<NarrowedCall | undefined> {
    const { grammar: whole } = call
    const source = whole?.source
    const text = asksForDocument(call) ? textAlone(call.messages) : undefined
    if (text === undefined || !whole || !source || !('schema' in source) || !isRecord(source.schema)) return undefined
    const questions = pointedQuestions(source.schema)
    const answers = await this.#answers(text, questions, source, call)
    if (!answers.some((answer) => answer)) return undefined
    const pointed = new Map(questions.map(({ path }, i) => [jsonPointer(path), answers[i]]))
    const schema = narrowedSchema(source.schema, (path) => pointed.get(jsonPointer(path)))
    if (!schema) return undefined
    try {
      const compiling = inStage('compile', call.id, fromSourceInSlices({ ...source, schema }))
      const narrow = await inTurns(compiling, call.signal, call.caller)
      const { vocabulary, tokenizer } = this.#text
      const longer = narrow.start(vocabulary).shortest - whole.start(vocabulary).shortest
      // A document that must be short has room for other values alone.
      if (longer > spare) return undefined
      // Of each token it is to be told how likely it was: then none is certain for being settled.
      const isPlain = call.topLogprobs === undefined
      const chosen = new Chosen(whole, vocabulary, tokenizer)
      return {
        grammar: isPlain ? narrow : settledGrammar(whole, narrow),
        longer,
        *parts(part) {
          if (part.type === 'evidence')
            yield { ...part, evidence: withPointed(part.evidence, pointed.get(part.evidence.pointer)) }
          else if (part.type === 'text-delta' && isPlain) yield* chosen.parts(part)
          else yield part
        },
      }
    } catch (error) {
      // What was settled contradicts the rest of the schema, which then stays as it is.
      if (error instanceof SchemaError || error instanceof GrammarError) return undefined
      throw error
    }
  }

  /** What the model that writes has `decided`, and this one with it. Asked about something else than one text, it has no say. */
  async decided({ state, questions, order, ...sender }: DecideCall, decided: Decided): Promise<Decided> {
    const text = typeof state === 'string' ? state : textAlone(state)
    if (text === undefined || questions.some(({ instructions }) => typeof instructions !== 'string')) return decided
    const worded = questions.map(({ instructions, options }) => {
      const texts = options.map((option) => option.text)
      // In whatever order they are given, they are read in one.
      return {
        text: asField(['answer'], textOf(instructions), false),
        options: order === 'average' ? texts.toSorted() : texts,
        texts,
      }
    })
    // Each by itself: an answer does not hang on what else is asked.
    const laid = this.#laid(await this.#tokens(text, sender), worded, 1)
    if (!laid) return decided
    const counts = questions.map(({ type }) => isPointedAt(type))
    const counted = laid.filter((_, i) => counts[i])
    const scores = await this.#read(counted, sender)
    const pointed = questions.map(({ type }, i) => {
      if (!counts[i]) return { type }
      const { texts, options: order } = worded[i]!
      const { options } = scores[counted.indexOf(laid[i]!)]!.options(0)
      return { type, probabilities: texts.map((option) => options[order.indexOf(option)]!) }
    })
    return decidedByBoth(decided, pointed)
  }

  /** Where a text answers each of some questions. Undefined: it is too long. */
  async pointed({ text, questions, ...sender }: PointCall): Promise<PointedText | undefined> {
    const tokens = await this.#tokens(text, sender)
    const { mostQuestions: together } = this.#of
    const worded = questions.map(({ name, instructions, isNumber }) => {
      return { text: asField([name], instructions, isNumber), options: [] }
    })
    const laid = this.#laid(tokens, worded, together)
    if (!tokens || !laid) return undefined
    const read = await this.#read(laid, sender)
    const spanOf = this.#spansOf(text, tokens)
    const answers = questions.map(({ isNumber }, i): PointedAnswer | undefined => {
      const { nothing, stretches } = read[Math.floor(i / together)]!.stretches(i % together)
      const [best] = stretches
      const probability = (1 - nothing) * (best?.probability ?? 0)
      const span = probability >= (isNumber ? SURE_OF_NUMBER : SURE_OF_STRETCH) && spanOf(best!.from, best!.to)
      return span ? { ...span, probability, nothing } : undefined
    })
    const promptTokens = laid.reduce((sum, one) => sum + one.tokens.length - tokens.length, tokens.length)
    return { answers, usage: { promptTokens, completionTokens: 0, cachedTokens: 0 } }
  }

  /** Those of a text, in a turn of its own; undefined: it is too long. */
  async #tokens(text: string, { signal, caller }: Sender): Promise<readonly number[] | undefined> {
    const { tokenizer } = this.#text
    await myTurn(signal, caller)
    return tokenizer.isBeyond(text, this.#of.model.contextLength) ? undefined : tokenizer.encodePlain(text)
  }

  /** A text with so many questions behind it at a time. Undefined: it is too long, or there is nothing to ask. */
  #laid(text: readonly number[] | undefined, questions: readonly Worded[], together: number): LaidText[] | undefined {
    if (!text || !this.#marks || questions.length === 0) return undefined
    const lots: LaidText[] = []
    for (let from = 0; from < questions.length; from += together) {
      const some = questions.slice(from, from + together)
      lots.push(laidOut(this.#text.tokenizer, this.#marks, text, some))
    }
    return lots.some(({ tokens }) => tokens.length > this.#of.model.contextLength) ? undefined : lots
  }

  async #read(laid: readonly LaidText[], { signal, caller }: Sender): Promise<Scores[]> {
    const numbers = await this.#line.run(laid, signal, caller)
    return laid.map((one, i) => new Scores(one, numbers[i]!, this.#of))
  }

  async #answers(
    text: string,
    questions: readonly PointedQuestion[],
    source: SchemaSource,
    sender: Sender,
  ): Promise<(Pointed | undefined)[]> {
    const tokens = await this.#tokens(text, sender)
    const { mostQuestions: together } = this.#of
    const laid = this.#laid(tokens, questions, together)
    if (!tokens || !laid) return []
    const read = await this.#read(laid, sender)
    const spanOf = this.#spansOf(text, tokens)
    const wordsOf: WordsOf = (from, to) => {
      const span = spanOf(from, to)
      return span && text.slice(span.start, span.end)
    }
    const answers: (Pointed | undefined)[] = []
    for (const [i, question] of questions.entries()) {
      const scores = read[Math.floor(i / together)]!
      const found =
        question.kind === 'option'
          ? optionOf(scores, i % together, question)
          : stretchOf(scores, i % together, question, wordsOf)
      answers.push(found && (await this.#allowed(found, question, source, sender)))
    }
    return answers
  }

  /** What a schema allows of it, by its own grammar. Compiled with pauses: a stranger's pattern may take its time. */
  async #allowed(
    found: Pointed,
    { schema }: PointedQuestion,
    source: SchemaSource,
    { id, signal, caller }: Sender,
  ): Promise<Pointed | undefined> {
    const { values, runnerUp } = found
    if (values.length === 0 && !runnerUp) return found
    try {
      const compiling = inStage('compile', id, fromSourceInSlices({ ...source, schema, layout: 'compact' }))
      const grammar = await inTurns(compiling, signal, caller)
      const allows = (value: Value | null) => value === null || grammar.accepts(JSON.stringify(value))
      if (!values.every(allows)) return undefined
      return runnerUp && !allows(runnerUp.value) ? { ...found, runnerUp: undefined } : found
    } catch {
      signal.throwIfAborted()
      return undefined
    }
  }

  /**
   * Where some of a text's tokens stand, which together are all of its bytes, without white space around them: a token may be
   * the end of a word and the `\r` behind it. Undefined: they cut a character in two, or are blank.
   */
  #spansOf(text: string, tokens: readonly number[]): (from: number, to: number) => TextSpan | undefined {
    const borders = [0]
    for (const token of tokens) borders.push(borders.at(-1)! + this.#text.tokenizer.bytes(token).length)
    const bytes = new TextEncoder().encode(text)
    const utf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
    const lengthOf = (from: number, to: number) => utf8.decode(bytes.subarray(borders[from], borders[to])).length
    return (from, to) => {
      try {
        const first = lengthOf(0, from)
        const said = text.slice(first, first + lengthOf(from, to))
        const words = said.trim()
        const start = first + said.length - said.trimStart().length
        return words === '' ? undefined : { start, end: start + words.length }
      } catch {
        return undefined
      }
    }
  }
}

/** Whoever biases tokens wants them weighed as they are written. */
const asksForDocument = ({ output, prompt, tools, sampling }: ChatCall) =>
  output.type === 'json_schema' && prompt === undefined && tools.length === 0 && !sampling.logitBias?.size

/** Of a conversation that is one message of a user, with instructions before it or without. */
function textAlone(messages: readonly ChatMessage[]): string | undefined {
  const others = messages.filter(({ role }) => role !== 'system')
  const [only] = others
  return others.length === 1 && only?.role === 'user' && typeof only.content === 'string' ? only.content : undefined
}

function optionOf(scores: Scores, at: number, { options, absence }: PointedQuestion): Pointed | undefined {
  const { nothing, options: likely } = scores.options(at)
  const ranked = options.map((value, i) => [value, likely[i]!] as const)
  return pointedAt(ranked, nothing, absence, true)
}

function stretchOf(
  scores: Scores,
  at: number,
  { kind, absence }: PointedQuestion,
  wordsOf: WordsOf,
): Pointed | undefined {
  const { nothing, stretches } = scores.stretches(at)
  const ranked = stretches.map(({ from, to, probability }) => {
    return [readAs(kind, wordsOf(from, to)), probability] as const
  })
  return pointedAt(ranked, nothing, absence, false)
}

/** `ranked`: probabilities among values; undefined: of stretches that are none. */
function pointedAt(
  ranked: readonly (readonly [value: Value | undefined, probability: number])[],
  nothing: number,
  absence: PointedQuestion['absence'],
  areFew: boolean,
): Pointed | undefined {
  // That a value of a record is missing does not say that the record is.
  const mayMiss = absence !== undefined && absence !== 'record'
  const probabilities = new Map<Value | null | undefined, number>(mayMiss ? [[null, nothing]] : [])
  for (const [value, probability] of ranked) {
    const share = absence ? probability * (1 - nothing) : probability
    probabilities.set(value, (probabilities.get(value) ?? 0) + share)
  }
  const [best, second] = [...probabilities].sort(([, one], [, other]) => other - one)
  if (best?.[0] === undefined) return undefined
  const [value, probability] = best
  if (probability < (areFew && typeof value === 'string' ? SURE_OF_OPTION : SURE)) return undefined
  return {
    ...{ values: value === null ? [] : [value], probability },
    nothing: mayMiss ? nothing : undefined,
    runnerUp: areFew && second?.[0] !== undefined ? { value: second[0], probability: second[1] } : undefined,
  }
}

function readAs(kind: PointedQuestion['kind'], words: string | undefined): Value | undefined {
  if (kind === 'text' || words === undefined) return words
  const { value, guess } = readValue({ type: kind === 'date' ? 'date' : 'number' }, words, LANGUAGE)
  const meant = value ?? guess
  // Of a larger number digits are lost.
  return typeof meant === 'string' || Math.abs(meant ?? Number.NaN) <= Number.MAX_SAFE_INTEGER ? meant : undefined
}

/** The model that writes had no choice where a value was settled. */
function withPointed(evidence: Evidence, pointed: Pointed | undefined): Evidence {
  if (!pointed) return evidence
  const { probability: confidence, nothing, runnerUp } = pointed
  return { ...evidence, confidence, ...(runnerUp && { runnerUp }), ...(nothing !== undefined && { pNull: nothing }) }
}
