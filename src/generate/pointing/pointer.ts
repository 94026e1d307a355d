/**
 * What a model that points knows of a text before anything is written about it: of a document the values that it is sure of
 * are settled, and of the others the likeliest are left to the model that writes; of a decision how likely each option is.
 */
import {
  type ChatCall,
  type ChatMessage,
  type DecideCall,
  type Decided,
  type Evidence,
  type OutputGrammar,
  type PointingModel,
  type SchemaSource,
  textOf,
} from '../../contract/index.js'
import { fromSource, fromSourceInSlices, type Grammar, GrammarError, SchemaError } from '../../grammar/index.js'
import { inStage, inTurns, isRecord, type JsonObject, type readValue } from '../../platform/index.js'
import type { ChatText } from '../chat-text.js'
import { VectorLine } from '../run/line.js'
import { decidedByBoth } from './decided-by-both.js'
import { type LaidText, laidOut, type PointingMarks } from './layout.js'
import { asField, narrowedSchema, type PointedQuestion, pointedQuestions } from './questions.js'
import { Scores } from './scores.js'

/** Of the texts that models which point were taught with. */
const LANGUAGE = { language: 'en' } as const
/** From here on a value is settled; below it the model that writes chooses among so many, by what it reads. */
const SURE = 0.8
const CANDIDATES = 3

/** How likely the values are that a document may still have at a place, all of them together, and how likely none. */
interface Pointed {
  readonly probability: number
  readonly nothing: number | undefined
  /** The likeliest of the other options. */
  readonly runnerUp: Evidence['runnerUp']
}

export interface NarrowedCall {
  readonly grammar: OutputGrammar
  /** What a value rests on, where the model that writes knows but how it chose among what was left. */
  evidenceOf(evidence: Evidence): Evidence
}

type Value = string | number | boolean
type Read = typeof readValue
type Said = (from: number, to: number) => string | undefined
type Allows = (value: Value) => boolean
/** Whose request it is. */
type Sender = Pick<ChatCall, 'id' | 'signal' | 'caller'>
type Asked = Pick<PointedQuestion, 'text' | 'options'>

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

  /** Undefined: the call asks for something else than values of one text, or nothing was pointed at. */
  async narrowed(call: ChatCall): Promise<NarrowedCall | undefined> {
    const source = call.grammar?.source
    const text = asksForDocument(call) ? textAlone(call.messages) : undefined
    if (text === undefined || !source || !('schema' in source) || !isRecord(source.schema)) return undefined
    const questions = pointedQuestions(source.schema)
    const answers = await this.#answers(text, questions, source, call)
    if (!answers.some((answer) => answer)) return undefined
    const pointed = new Map(questions.map(({ path }, i) => [pointerTo(path), answers[i]]))
    const schema = narrowedSchema(source.schema, (path) => pointed.get(pointerTo(path)))
    if (!schema) return undefined
    try {
      const compiling = inStage('compile', call.id, fromSourceInSlices({ ...source, schema }))
      const grammar = await inTurns(compiling, call.signal, call.caller)
      return { grammar, evidenceOf: (evidence) => withPointed(evidence, pointed.get(evidence.pointer)) }
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
    const asked = questions.map(({ type, instructions, options }) => {
      const texts = type === 'predicate' ? ['true', 'false'] : options.map((option) => option.text)
      // In whatever order they are given, they are read in one.
      return {
        text: asField(['answer'], textOf(instructions), false),
        options: order === 'average' ? texts.toSorted() : texts,
        texts,
      }
    })
    const read = await this.#read(this.#tokens(text), asked, sender)
    if (!read) return decided
    const pointed = read.map(({ scores, at }, i) => {
      const { options } = scores.options(at)
      const { texts, options: laid } = asked[i]!
      return texts.map((option) => options[laid.indexOf(option)]!)
    })
    return decidedByBoth(decided, pointed)
  }

  /** Those of a text; undefined: it is too long. */
  #tokens(text: string): readonly number[] | undefined {
    const { tokenizer } = this.#text
    return tokenizer.isBeyond(text, this.#of.model.contextLength) ? undefined : tokenizer.encodePlain(text)
  }

  /** Where the answer of each question is among the scores of a text. */
  async #read(text: readonly number[] | undefined, questions: readonly Asked[], { signal, caller }: Sender) {
    if (!text || !this.#marks || questions.length === 0) return undefined
    const lots: LaidText[] = []
    const { mostQuestions } = this.#of
    for (let from = 0; from < questions.length; from += mostQuestions) {
      const some = questions.slice(from, from + mostQuestions)
      lots.push(laidOut(this.#text.tokenizer, this.#marks, text, some))
    }
    if (lots.some(({ tokens }) => tokens.length > this.#of.model.contextLength)) return undefined
    const numbers = await this.#line.run(lots, signal, caller)
    const scores = lots.map((laid, i) => new Scores(laid, numbers[i]!, this.#of))
    return questions.map((_, i) => ({ scores: scores[Math.floor(i / mostQuestions)]!, at: i % mostQuestions }))
  }

  async #answers(
    text: string,
    questions: readonly PointedQuestion[],
    source: SchemaSource,
    sender: Sender,
  ): Promise<(PointedValues | undefined)[]> {
    const tokens = this.#tokens(text)
    const read = await this.#read(tokens, questions, sender)
    if (!tokens || !read) return []
    const said = this.#stretchesOf(text, tokens)
    // Most of their size is words of many languages.
    const { readValue } = await import('../../platform/readers/index.js')
    return questions.map((question, i) => {
      const { scores, at } = read[i]!
      const allows = allowedBy(question.schema, source)
      if (question.kind === 'option') return optionOf(scores, at, question, allows)
      return stretchOf(scores, at, question, said, allows, readValue)
    })
  }

  /** The text of some of its tokens, which together are all of its bytes. Undefined: it cuts a character in two. */
  #stretchesOf(text: string, tokens: readonly number[]): Said {
    const borders = [0]
    for (const token of tokens) borders.push(borders.at(-1)! + this.#text.tokenizer.bytes(token).length)
    const bytes = new TextEncoder().encode(text)
    const utf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
    return (from, to) => {
      try {
        return utf8.decode(bytes.subarray(borders[from], borders[to]))
      } catch {
        return undefined
      }
    }
  }
}

const asksForDocument = ({ output, prompt, tools }: ChatCall) =>
  output.type === 'json_schema' && prompt === undefined && tools.length === 0

/** Of a conversation that is one message of a user, with instructions before it or without. */
function textAlone(messages: readonly ChatMessage[]): string | undefined {
  const said = messages.filter(({ role }) => role !== 'system')
  const [only] = said
  return said.length === 1 && only?.role === 'user' && typeof only.content === 'string' ? only.content : undefined
}

interface PointedValues extends Pointed {
  /** The likeliest first; empty: there is none. */
  readonly values: readonly Value[]
}

function optionOf(
  scores: Scores,
  at: number,
  { options, absence }: PointedQuestion,
  allows: Allows,
): PointedValues | undefined {
  const { nothing, options: likely } = scores.options(at)
  const share = shareOf(nothing, absence)
  const ranked = options.map((value, i) => ({
    value: allows(value) ? value : undefined,
    probability: likely[i]! * share,
  }))
  const answer = answerOf(ranked, nothing, absence)
  const [runnerUp] = ranked
    .filter((one): one is Ranked<Value> => one.value !== undefined && one.value !== answer?.values[0])
    .sort((one, other) => other.probability - one.probability)
  return answer && { ...answer, runnerUp }
}

function stretchOf(
  scores: Scores,
  at: number,
  { kind, absence }: PointedQuestion,
  said: Said,
  allows: Allows,
  read: Read,
): PointedValues | undefined {
  const { nothing, stretches } = scores.stretches(at)
  const share = shareOf(nothing, absence)
  const values = new Map<Value | undefined, number>()
  for (const { from, to, probability } of stretches) {
    const value = readAs(kind, said(from, to), read)
    const allowed = value !== undefined && allows(value) ? value : undefined
    values.set(allowed, (values.get(allowed) ?? 0) + probability * share)
  }
  const ranked = [...values].map(([value, probability]) => ({ value, probability }))
  return answerOf(ranked, nothing, absence)
}

interface Ranked<Of> {
  readonly value: Of
  readonly probability: number
}

/** What is left for values: all, where there must be one. */
const shareOf = (nothing: number, absence: PointedQuestion['absence']) => (absence ? 1 - nothing : 1)

/** Undefined: what is likeliest is nothing that may stand there, so nothing is known. */
function answerOf(
  ranked: readonly Ranked<Value | undefined>[],
  nothing: number,
  absence: PointedQuestion['absence'],
): PointedValues | undefined {
  if (absence && nothing > 0.5) {
    // That a value of a record is missing does not say that the record is.
    return absence === 'record' ? undefined : { values: [], probability: nothing, nothing, runnerUp: undefined }
  }
  const sorted = [...ranked].sort((one, other) => other.probability - one.probability)
  const [best] = sorted
  if (!best || best.value === undefined) return undefined
  const some = best.probability >= SURE ? [best] : sorted.slice(0, CANDIDATES)
  const left = some.filter((one): one is Ranked<Value> => one.value !== undefined)
  return {
    values: left.map(({ value }) => value),
    probability: left.reduce((sum, { probability }) => sum + probability, 0),
    nothing: absence && absence !== 'record' ? nothing : undefined,
    runnerUp: undefined,
  }
}

function readAs(kind: PointedQuestion['kind'], said: string | undefined, read: Read): Value | undefined {
  if (kind === 'text' || said === undefined) return said
  const { value, guess } = read({ type: kind === 'date' ? 'date' : 'number' }, said, LANGUAGE)
  const meant = value ?? guess
  if (kind === 'date') return typeof meant === 'string' ? meant : undefined
  if (typeof meant !== 'number' || (kind === 'integer' && !Number.isInteger(meant))) return undefined
  // Of a larger one digits are lost.
  return Math.abs(meant) <= Number.MAX_SAFE_INTEGER ? meant : undefined
}

/** Whether a schema allows a value: by its own grammar. */
function allowedBy(schema: JsonObject, source: SchemaSource): Allows {
  let grammar: Grammar | undefined
  return (value) => {
    try {
      grammar ??= fromSource({ ...source, schema, layout: 'compact' })
      return grammar.accepts(JSON.stringify(value))
    } catch {
      return false
    }
  }
}

function withPointed(evidence: Evidence, pointed: Pointed | undefined): Evidence {
  if (!pointed) return evidence
  const { runnerUp, ...rest } = evidence
  const { probability, nothing } = pointed
  const share = (one: number) => Math.min(1, one * probability)
  const second = runnerUp ? { ...runnerUp, probability: share(runnerUp.probability) } : pointed.runnerUp
  return {
    ...rest,
    confidence: share(rest.confidence),
    ...(second && { runnerUp: second }),
    ...(nothing !== undefined && { pNull: nothing }),
  }
}

const pointerTo = (path: readonly string[]) =>
  path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
