/** A state and questions about it as tokens. */
import { type DecideCall, type DecideQuestion, V1Error } from '../../contract/index.js'
import { commonLength, mapped, type Slices } from '../../platform/index.js'
import { type ChatText, COUNTED, encodedSections } from '../chat-text.js'
import { tooLong } from '../too-long.js'
import { partsAround, type TextAround } from './parts.js'
import { INSTRUCTIONS, ordersOf, QUESTION, questionText, stateBlock, stateText } from './questions.js'
import { OptionTrie } from './trie.js'

/** Tokens that may end an answer are few; these are the first of them. */
const MOST_ENDS = 8

/** Tokens by which two texts may be shorter where they are one. */
const JOINED = 8
/** Characters that are taken apart from one pause to the next. */
const SLICE = 16_384

/** One question in one order of its options. */
export interface QuestionTokens {
  readonly question: number
  /** All that is read before an option, the state's tokens with it. */
  readonly stem: readonly number[]
  readonly trie: OptionTrie
  /** The stem and the longest option. */
  readonly length: number
}

export class DecidePrompt {
  /** The beginning of every question. */
  readonly state: readonly number[]
  readonly #text: ChatText
  readonly #parts: TextAround
  /** Tokens before the text that the state ends in, and of that text those before the word that begins a question. */
  readonly #earlier: readonly number[]
  /** Undefined where the word's tokens do not stand for themselves: the text must then be taken apart anew. */
  readonly #before: readonly number[] | undefined
  readonly #capacity: number

  private constructor(
    { text, parts, capacity }: { readonly text: ChatText; readonly parts: TextAround; readonly capacity: number },
    earlier: readonly number[],
    last: readonly number[],
  ) {
    this.#text = text
    this.#capacity = capacity
    this.#parts = parts
    this.#earlier = earlier
    const word = text.tokenizer.encodeContinuation(QUESTION)
    const clean = word.every((token, i) => last[last.length - word.length + i] === token)
    this.#before = clean ? last.slice(0, last.length - word.length) : undefined
    this.state = [...earlier, ...last]
  }

  /** `thought`: the thought about the state, where there was one. */
  static *of(call: DecideCall, text: ChatText, thought: string, capacity: number): Slices<DecidePrompt> {
    const texts = yield* mapped(call.questions, (question) => questionText(question, [...question.options.keys()]))
    const parts = yield* partsAround(text, INSTRUCTIONS, stateBlock(stateText(call.state), thought) + QUESTION, texts)
    const { before, section, reveal } = parts
    const earlier = yield* encodedSections(text.tokenizer, before, capacity, reveal)
    // What it is too long for is the whole context, in words and in numbers.
    const last = yield* encodedSections(text.tokenizer, [section], capacity, reveal, before.length)
    return new DecidePrompt({ text, parts, capacity }, earlier, last)
  }

  /** The question in each of its orders, with pauses. */
  *inOrders(question: DecideQuestion, index: number, order: DecideCall['order']): Slices<QuestionTokens[]> {
    const found: QuestionTokens[] = []
    for (const turned of ordersOf(question, order)) {
      found.push(yield* this.#inOrder(question, index, turned))
      yield
    }
    return found
  }

  *#inOrder(question: DecideQuestion, index: number, order: readonly number[]): Slices<QuestionTokens> {
    const [first, ...rest] = this.#parts.after
    const last = rest.at(-1)
    const opening = questionText(question, order) + first
    yield* this.#assertFits(opening, index)
    const asked = last === undefined ? [] : [...this.#behind(opening), ...this.#encoded(rest.slice(0, -1))]
    // The same before all options, of which none has it: the state may be long, and they may be many.
    const head = [...this.#earlier, ...(this.#before ?? []), ...asked]
    // An option is written behind the last text, which is the question's own where nothing stands between.
    const written = (option: string) =>
      last === undefined ? this.#behind(opening + option) : this.#ending(last, option)
    const plain = written('')
    const options: (readonly number[])[] = []
    let read = 0
    for (const { text } of question.options) {
      read += opening.length + text.length
      if (read > SLICE) yield
      read %= SLICE
      const tokens = written(text)
      const all = head.length + tokens.length
      if (all > this.#capacity) throw this.#tooLong(index, all)
      options.push(tokens)
    }
    const length = head.length + Math.max(...options.map((tokens) => tokens.length))
    // Where a token of an option reaches back over the border, the border is where none does.
    const border = options.reduce((length, tokens) => commonLength(plain, tokens, length), plain.length)
    const ends = hasBeginnings(question) ? [...this.#text.ends].slice(0, MOST_ENDS) : []
    const trie = yield* OptionTrie.inSlices(
      options.map((tokens) => tokens.slice(border)),
      ends,
    )
    return { question: index, stem: [...head, ...plain.slice(0, border)], trie, length }
  }

  /** Each option is written behind all that a question says: what cannot fit is refused before. */
  *#assertFits(text: string, index: number): Slices<void> {
    const { sections, reveal } = this.#parts
    const room = this.#capacity - this.state.length
    if (text.length <= room) return
    const most = room + COUNTED
    let length = most
    try {
      length = (yield* encodedSections(this.#text.tokenizer, sections(text), room, reveal, 1)).length
    } catch (error) {
      if (!V1Error.is(error) || error.code !== 'context_length_exceeded') throw error
    }
    // At a border with what stands before a token or two may become one.
    if (length > room + JOINED) throw this.#tooLong(index, this.state.length + length, length >= most)
  }

  /** Whichever is longer is named: the question, or the state. */
  #tooLong(index: number, length: number, least = false): V1Error {
    const own = length - this.state.length
    if (own <= this.state.length) return tooLong(this.#capacity, length, least)
    const field = `questions[${index}]`
    const message = `Invalid '${field}': with its longest option it has ${least ? 'more than ' : ''}${own} tokens, and this model's maximum context length is ${this.#capacity} tokens. Shorten it.`
    return new V1Error(400, message, { param: field, code: 'context_length_exceeded' })
  }

  /** The tokens behind the state up to a question's end: of the state no more than its last word is taken apart again. */
  #behind(text: string): number[] {
    const { tokenizer } = this.#text
    const { section, before, reveal, sections } = this.#parts
    if (this.#before !== undefined) return this.#continued(QUESTION + text)
    const [first = '', ...rest] = sections(text)
    const state = reveal(section)
    if (typeof first === 'number') {
      return [...tokenizer.encodePlain(state, before.length), first, ...this.#encoded(rest)]
    }
    const last = tokenizer.encodePlain(state + reveal(first), before.length)
    return [...last, ...this.#encoded(rest)]
  }

  /** A text that goes on from an earlier one. */
  #continued(text: string): number[] {
    const { tokenizer } = this.#text
    const { sections, reveal } = this.#parts
    return sections(text).flatMap((section) =>
      typeof section === 'number' ? [section] : tokenizer.encodeContinuation(reveal(section)),
    )
  }

  #encoded(sections: readonly (number | string)[]): number[] {
    const { tokenizer } = this.#text
    const { reveal } = this.#parts
    return sections.flatMap((section) =>
      typeof section === 'number' ? [section] : tokenizer.encodePlain(reveal(section), 1),
    )
  }

  #ending(section: number | string, option: string): readonly number[] {
    const { tokenizer } = this.#text
    if (typeof section === 'number') return [section, ...this.#continued(option)]
    const [first = '', ...rest] = this.#parts.sections(option)
    if (typeof first === 'number') return [...tokenizer.encodePlain(section, 1), first, ...this.#encoded(rest)]
    return [...tokenizer.encodePlain(section + this.#parts.reveal(first), 1), ...this.#encoded(rest)]
  }
}

/** One option is the beginning of another: it is then told apart by its end. */
function hasBeginnings({ options }: DecideQuestion): boolean {
  const texts = options.map(({ text }) => text).sort()
  // What begins with a text stands behind it.
  return texts.some((text, i) => i > 0 && text.startsWith(texts[i - 1]!))
}
