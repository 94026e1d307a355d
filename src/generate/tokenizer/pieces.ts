import type { PreTokenizer } from '@huggingface/tokenizers'
import { Pattern, type PatternMatch } from '../../grammar/index.js'
import { byteLevelName } from '../../platform/index.js'
import type { TokenizerPart } from './parts.js'

/**
 * A pre-tokenizer that gives one word after the other, where the library makes all of a text before it returns any: a
 * text that is a megabyte long takes it seconds. Each stage works on every piece of the stage before by itself, so the
 * words are the same, in the same order.
 */
export class Pieces {
  /** No stage leaves anything of the text out. */
  readonly keepsAll: boolean
  readonly #stages: readonly Stage[]

  /** `parts`: words of SentencePiece end before the next space, as in the library in Rust. */
  constructor(preTokenizer: PreTokenizer | null, { parts = false } = {}) {
    this.#stages = partsOf(preTokenizer).map((part) => stageOf(part, parts))
    this.keepsAll = this.#stages.every(({ keepsAll }) => keepsAll)
  }

  /** Undefined: a pause, where a pattern is looked for in a long text. */
  *of(text: string, section: number, index = 0): Iterable<string | undefined> {
    const stage = this.#stages[index]
    if (stage === undefined) yield text
    else {
      for (const piece of stage.cut(text, section)) {
        if (piece === undefined) yield
        else yield* this.of(piece, section, index + 1)
      }
    }
  }
}

interface Stage {
  readonly keepsAll: boolean
  cut(text: string, section: number): Iterable<string | undefined>
}

interface PreTokenizerPart extends PreTokenizer, TokenizerPart {
  readonly config?: TokenizerPart['config'] & { readonly invert?: boolean; readonly behavior?: string }
  readonly tokenizers?: readonly (PreTokenizerPart | null)[]
  readonly use_regex?: boolean
  readonly add_prefix_space?: boolean
  /** What SentencePiece has for a space. */
  readonly str_rep?: string
}

function partsOf(part: PreTokenizerPart | null): PreTokenizerPart[] {
  if (part === null) return []
  return part.tokenizers === undefined ? [part] : part.tokenizers.flatMap(partsOf)
}

function stageOf(part: PreTokenizerPart, parts: boolean): Stage {
  const { pattern, config, use_regex: usesPattern } = part
  if (config?.type === 'ByteLevel' && !part.add_prefix_space) {
    if (!usesPattern) return { keepsAll: true, cut: (text) => [byteLevelName(text)] }
    // Every character is in a match of it.
    if (pattern) return { keepsAll: true, cut: (text) => named(text, pattern) }
  }
  // The library takes a byte order mark for a space.
  if (config?.type === 'BertPreTokenizer') return { keepsAll: false, cut: bertWords }
  if (config?.type === 'Split' && pattern && !config.invert && config.behavior?.toLowerCase() !== 'removed') {
    return { keepsAll: true, cut: (text) => split(text, pattern) }
  }
  const whole = (text: string, section: number) => part.pre_tokenize_text(text, { section_index: section })
  if (parts && part.str_rep === '▁') return { keepsAll: false, cut: (text, section) => spaced(whole(text, section)) }
  return { keepsAll: false, cut: whole }
}

function* spaced(texts: readonly string[]): Iterable<string> {
  for (const text of texts) for (const [word] of text.matchAll(/▁[^▁]*|[^▁]+/g)) yield word
}

function* named(text: string, pattern: RegExp): Iterable<string> {
  for (const [match] of text.matchAll(pattern)) yield byteLevelName(match)
}

/** Runs of what is neither space nor punctuation, and each sign of punctuation by itself. */
const BERT_WORD = /[^\p{White_Space}\p{P}!-/:-@[-`{-~]+|[\p{P}!-/:-@[-`{-~]/gu

function* bertWords(text: string): Iterable<string> {
  for (const [match] of text.matchAll(BERT_WORD)) yield match
}

/** The matches, and what lies between them. */
function* split(text: string, pattern: RegExp | Pattern): Iterable<string | undefined> {
  let from = 0
  for (const found of pattern instanceof Pattern ? pattern.find(text) : spans(text, pattern)) {
    if (found === undefined) {
      yield
      continue
    }
    if (from < found.start) yield text.slice(from, found.start)
    if (found.start < found.end) yield text.slice(found.start, found.end)
    from = found.end
  }
  if (from < text.length) yield text.slice(from)
}

function* spans(text: string, pattern: RegExp): Iterable<PatternMatch> {
  for (const { 0: match, index } of text.matchAll(pattern)) yield { start: index, end: index + match.length }
}

/** Words whose tokens are kept. */
const MOST = 20_000

/**
 * What the library's byte-pair model keeps its words in, with the methods that it calls. Its own cache moves a word to
 * the end of a Map each time it is used, and takes a hundred times longer for each once it is full; this one forgets all
 * words at once, which costs one word in twenty thousand its place.
 */
export class WordCache extends Map<string, string[]> {
  put(word: string, tokens: string[]): void {
    if (this.size >= MOST) this.clear()
    this.set(word, tokens)
  }
}
