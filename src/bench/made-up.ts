/**
 * A model that is nothing but its shape: weights and vocabulary are made up, the work is that of the real one. It needs
 * no download and says how fast a model of this size would be here; what it writes means nothing.
 */

import type { OpenedRepository } from '../engines/index.js'
import { INSTRUCTIONS, QUESTION, type TextFiles } from '../generate/index.js'
import { byteName } from '../platform/index.js'
import { FAMILIES } from './families.js'
import { PROMPT_WORDS } from './prompts.js'
import { SHAPES, syntheticSource } from './shapes.js'
import { syntheticWeights } from './synthetic.js'

const NAMESPACE = 'made-up/'
const CONTROL = ['<|im_start|>', '<|im_end|>']
const SYLLABLES = ['ka', 'lo', 'mi', 're', 'su', 'ta', 'ne', 'po', 'vi', 'da', 'go', 'hu', 'ja', 'be', 'fi', 'zo']

export function isMadeUp(model: string): boolean {
  return model.startsWith(NAMESPACE)
}

/** `made-up/SmolLM2-135M-like`, ... */
export function madeUpModels(): string[] {
  return Object.keys({ ...SHAPES, ...FAMILIES }).map((name) => NAMESPACE + name)
}

export function assertMadeUp(model: string): void {
  if (!madeUpModels().includes(model)) {
    throw new TypeError(`There is no ${model}; there are ${madeUpModels().join(', ')}.`)
  }
}

/** How many words it has. */
export function madeUpVocabulary(model: string): number {
  assertMadeUp(model)
  const name = model.slice(NAMESPACE.length)
  return SHAPES[name]?.vocabulary ?? Number(FAMILIES[name]!().config.vocab_size)
}

export function openMadeUp(model: string): OpenedRepository {
  assertMadeUp(model)
  const name = model.slice(NAMESPACE.length)
  const family = FAMILIES[name]?.()
  if (family) return { weights: syntheticWeights(family), text: madeUpText(Number(family.config.vocab_size)) }
  const shape = SHAPES[name]!
  return { weights: syntheticSource(shape), text: madeUpText(shape.vocabulary) }
}

/** What decisions are asked with, beside the words of prompts. */
const ASKING = `${INSTRUCTIONS} ${QUESTION} State Options Answer one yes no maybe system user assistant`.match(/\w+/g)!

/** Bytes, the words of prompts, made-up words up to the size of the vocabulary, and ChatML's control tokens. */
function madeUpText(size: number): TextFiles {
  const known = [...new Set([...PROMPT_WORDS, ...ASKING])].flatMap((each) => [each, `Ġ${each}`])
  const names = [...Array.from({ length: 256 }, (_, byte) => byteName(byte)), ...known].slice(0, size - CONTROL.length)
  for (let i = 0; names.length < size - CONTROL.length; i++) names.push(word(i))
  const vocab = Object.fromEntries(names.map((name, id) => [name, id]))
  const added_tokens = CONTROL.map((content, i) => ({
    id: names.length + i,
    content,
    special: true,
    normalized: false,
    lstrip: false,
    rstrip: false,
    single_word: false,
  }))
  const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  return {
    tokenizer: {
      added_tokens,
      normalizer: null,
      pre_tokenizer: level,
      post_processor: null,
      decoder: level,
      model: { type: 'BPE', unk_token: null, byte_fallback: false, vocab, merges: [], ignore_merges: true },
    },
    tokenizerConfig: { eos_token: '<|im_end|>' },
  }
}

/** The i-th word; half of them begin with a space, which byte-level vocabularies write as a letter. */
function word(i: number): string {
  let rest = i >> 1
  let text = ''
  do {
    text += SYLLABLES[rest % 16]
    rest = Math.floor(rest / 16) - 1
  } while (rest >= 0)
  return (i % 2 === 0 ? 'Ġ' : '') + text
}
