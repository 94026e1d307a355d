/**
 * Text that is certain because its values were settled was still chosen by a model: only what the whole grammar is certain of
 * is told as forced.
 */
import type { OutputGrammar, Part, TokenConstraint, TokenVocabulary } from '../../contract/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'

type TextDelta = Extract<Part, { readonly type: 'text-delta' }>

export class Chosen {
  readonly #grammar: OutputGrammar
  readonly #vocabulary: TokenVocabulary
  readonly #tokenizer: Tokenizer
  /** Of each choice, where its text has come to; undefined: it can no longer be told. */
  readonly #places = new Map<number, TokenConstraint | undefined>()

  constructor(grammar: OutputGrammar, vocabulary: TokenVocabulary, tokenizer: Tokenizer) {
    this.#grammar = grammar
    this.#vocabulary = vocabulary
    this.#tokenizer = tokenizer
  }

  *parts(part: TextDelta): Generator<TextDelta> {
    const { choice, text, forced, logprobs: _, ...rest } = part
    if (!this.#places.has(choice)) this.#places.set(choice, this.#grammar.start(this.#vocabulary))
    const place = this.#places.get(choice)
    const runs = place && this.#runs(place, text)
    if (!runs) this.#places.set(choice, undefined)
    if (!runs || forced === undefined || !runs.some(({ certain }) => !certain)) {
      yield part
      return
    }
    // As many tokens as were told, however they were cut.
    let left = forced
    for (const [i, { text, tokens, certain }] of runs.entries()) {
      const own = i === runs.length - 1 ? left : Math.min(left, tokens)
      left -= own
      yield { ...rest, choice, text, ...(certain && { forced: own }) }
    }
  }

  /** A text as the whole grammar sees it: runs that are certain, and each token that is not. */
  #runs(place: TokenConstraint, text: string): { text: string; tokens: number; certain: boolean }[] | undefined {
    const runs: { text: string; tokens: number; certain: boolean }[] = []
    const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
    for (const token of this.#tokenizer.encodePlain(text)) {
      const bytes = this.#tokenizer.bytes(token)
      const sure = place.forced()
      const certain = bytes.every((byte, i) => byte === sure[i])
      if (!place.accept(token)) return undefined
      const shown = utf8.decode(bytes, { stream: true })
      const last = runs.at(-1)
      if (last && (shown === '' || (certain && last.certain))) {
        last.text += shown
        last.tokens++
      } else runs.push({ text: shown, tokens: 1, certain })
    }
    return runs
  }
}
