/** Vocabularies for the check, made from its texts. Their tokens reach over words, so that every cut shows in the ids. */
import type { Metadata } from '../../bench/peers/gguf-file.js'
import { byteLevelName, byteName } from '../../src/platform/token-bytes.js'
import type { Unigram } from './hugging-face.js'

const [NORMAL, UNKNOWN, CONTROL, USER, BYTE] = [1, 2, 3, 4, 6]

/** Pairs that stand side by side most often, merged one after the other. */
function learn(texts: readonly string[], count: number): [string, string][] {
  const merges: [string, string][] = []
  let lines = texts.map((text) => [...text])
  while (merges.length < count) {
    const counts = new Map<string, number>()
    for (const line of lines) {
      for (let i = 1; i < line.length; i++) {
        const pair = `${line[i - 1]}\u0000${line[i]}`
        counts.set(pair, (counts.get(pair) ?? 0) + 1)
      }
    }
    // Several of a round, as long as none of them shares a part with another.
    const best = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 40)
    const taken = new Set<string>()
    const chosen = new Map<string, string>()
    for (const [pair, times] of best) {
      const [left, right] = pair.split('\u0000') as [string, string]
      if (times < 2 || taken.has(left) || taken.has(right)) continue
      taken.add(left).add(right)
      chosen.set(pair, left + right)
      merges.push([left, right])
    }
    if (chosen.size === 0) break
    lines = lines.map((line) => {
      const out: string[] = []
      for (const part of line) {
        const merged = out.length > 0 ? chosen.get(`${out.at(-1)}\u0000${part}`) : undefined
        if (merged === undefined) out.push(part)
        else out[out.length - 1] = merged
      }
      return out
    })
  }
  return merges.slice(0, count)
}

interface Written {
  readonly tokens: readonly string[]
  readonly kinds: readonly number[]
  readonly scores?: readonly number[]
  readonly merges?: readonly (readonly [string, string])[]
}

export function write(out: Metadata, model: string, { tokens, kinds, scores, merges }: Written): void {
  out.text('tokenizer.ggml.model', model)
  out.texts('tokenizer.ggml.tokens', tokens)
  out.integers('tokenizer.ggml.token_type', Int32Array.from(kinds))
  if (scores) out.floats('tokenizer.ggml.scores', Float32Array.from(scores))
  if (merges)
    out.texts(
      'tokenizer.ggml.merges',
      merges.map((pair) => pair.join(' ')),
    )
  out.u32('tokenizer.ggml.bos_token_id', 1)
  out.u32('tokenizer.ggml.eos_token_id', 2)
  out.flag('tokenizer.ggml.add_bos_token', false)
}

const MARKS = ['<unk>', '<s>', '</s>', '<note>']
const MARK_KINDS = [UNKNOWN, CONTROL, CONTROL, USER]

/** Byte pairs as GPT-2 spells them; which `pre` cuts the words is told by `out`'s other entries. */
export function byteLevel(texts: readonly string[]): (out: Metadata) => void {
  const written = byteLevelOf(texts, 2000)
  return (out) => write(out, 'gpt2', written)
}

export function byteLevelOf(texts: readonly string[], count: number) {
  const merges = learn(texts.map(byteLevelName), count)
  const bytes = Array.from({ length: 256 }, (_, byte) => byteName(byte))
  const tokens = [...new Set([...MARKS, ...bytes, ...merges.map((pair) => pair.join(''))])]
  const kinds = tokens.map((_, id) => MARK_KINDS[id] ?? NORMAL) as number[]
  return { tokens, kinds, merges }
}

const byteToken = (byte: number) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`

/** Text in which a mark stands for a space, with bytes for what has no token. */
function plain(texts: readonly string[]) {
  const spaced = texts.map((text) => `▁${text.replaceAll(' ', '▁')}`)
  const merges = learn(
    spaced.flatMap((text) => text.split('\n')),
    2000,
  )
  const seen = new Map<string, number>()
  for (const sign of spaced.join('')) seen.set(sign, (seen.get(sign) ?? 0) + 1)
  // Rare ones are left to bytes.
  const signs = [...seen].filter(([, times]) => times > 2).map(([sign]) => sign)
  const bytes = Array.from({ length: 256 }, (_, byte) => byteToken(byte))
  const known = new Set(signs)
  const usable = merges.filter(([left, right]) => [...left, ...right].every((sign) => known.has(sign)))
  const tokens = [...new Set([...MARKS, ...bytes, ...usable.map((pair) => pair.join('')), ...signs])]
  const kinds = tokens.map((_, id) => MARK_KINDS[id] ?? (id < MARKS.length + 256 ? BYTE : NORMAL)) as number[]
  return { tokens, kinds, merges: usable }
}

/** Pieces with scores: those that were merged earlier score higher. */
export function sentencePiece(texts: readonly string[], prefix: boolean): (out: Metadata) => void {
  const { tokens, kinds } = plain(texts)
  return (out) => {
    write(out, 'llama', { tokens, kinds, scores: tokens.map((_, id) => (id < MARKS.length + 256 ? 0 : -id)) })
    out.u32('tokenizer.ggml.unknown_token_id', 0)
    out.flag('tokenizer.ggml.add_space_prefix', prefix)
  }
}

export function gemma4(texts: readonly string[]): (out: Metadata) => void {
  const vocabulary = plain(texts)
  return (out) => {
    write(out, 'gemma4', vocabulary)
    out.u32('tokenizer.ggml.unknown_token_id', 0)
  }
}

/** Words as BERT parts them: those that begin one have a mark here, those that go on have none. */
export function wordPieceOf(texts: readonly string[], count: number): string[] {
  const words = texts
    .flatMap(
      (text) =>
        text
          .normalize('NFD')
          .replace(/\p{Mn}/gu, '')
          .toLowerCase()
          .match(/\p{L}+|\p{N}+|\S/gu) ?? [],
    )
    .map((word) => `▁${word}`)
  const merges = learn(words, count).map((pair) => pair.join(''))
  const signs = [...new Set(words.join(''))].filter((sign) => sign !== '▁')
  return [...new Set([...BERT_MARKS, ...signs.flatMap((sign) => [`▁${sign}`, sign]), ...merges])]
}

const BERT_MARKS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']

export function wordPiece(tokens: readonly string[]): (out: Metadata) => void {
  const kinds = tokens.map((_, id) => (id < BERT_MARKS.length ? CONTROL : NORMAL)) as number[]
  return (out) => {
    write(out, 'bert', { tokens, kinds })
    const ids = { padding: 0, unknown: 1, cls: 2, seperator: 3, mask: 4 }
    for (const [name, id] of Object.entries(ids)) out.u32(`tokenizer.ggml.${name}_token_id`, id)
  }
}

/** Pieces with scores and a table of characters, which SentencePiece's own trainer has made. */
export function unigram({ vocab, charsmap }: Unigram): (out: Metadata) => void {
  const tokens = vocab.map(([piece]) => piece)
  return (out) => {
    const kinds = tokens.map((_, id) => (id === 3 ? UNKNOWN : id < 4 ? CONTROL : NORMAL)) as number[]
    write(out, 't5', { tokens, kinds, scores: vocab.map(([, score]) => score) })
    out.u32('tokenizer.ggml.unknown_token_id', 3)
    out.flag('tokenizer.ggml.add_space_prefix', true)
    out.flag('tokenizer.ggml.remove_extra_whitespaces', true)
    out.octets('tokenizer.ggml.precompiled_charsmap', Buffer.from(charsmap, 'base64'))
  }
}
