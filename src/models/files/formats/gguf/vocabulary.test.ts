/** What a GGUF file says beside its weights: its tokens, which of them are special, its template, how it is to be asked. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Chance } from '../../../../device/operations/numbers.test-helper.js'
import { Tokenizer } from '../../../../generate/tokenizer/tokenizer.js'
import { locationOf } from '../../location.js'
import { openRepository } from '../../open.js'
import { writeMadeUp } from './made-up.test-helper.js'
import { readTokenizer } from './tokenizer.js'

it('special tokens, the template and how its makers would have it asked are those of the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-vocabulary-'))
  const path = join(folder, 'model.gguf')
  await writeMadeUp(path, {
    types: {},
    chatTemplate: '{{ messages[0].content }}',
    metadata(out) {
      out.u32('tokenizer.ggml.eot_token_id', 3)
      out.u32('tokenizer.ggml.eom_token_id', 260)
      out.u32('general.sampling.top_k', 20)
      out.float('general.sampling.temp', 0.5)
      out.float('general.sampling.top_p', 0.75)
      out.float('general.sampling.min_p', 0.25)
      out.float('general.sampling.penalty_repeat', 1.5)
    },
  })
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  const { text } = await openRepository(locationOf(path), options)
  expect(text.generationConfig).toEqual({
    eos_token_id: [2, 3, 260],
    ...{ temperature: 0.5, top_k: 20, top_p: 0.75, min_p: 0.25, repetition_penalty: 1.5 },
  })
  expect(text.tokenizerConfig).toEqual({
    ...{ bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>' },
    chat_template: '{{ messages[0].content }}',
  })
  // A note is one of the user's own tokens: it is written in texts, and told.
  const marked = (text.tokenizer.added_tokens as { content: string; special: boolean }[]).map(
    ({ content, special }) => `${content} ${special}`,
  )
  expect(marked).toEqual(['<unk> true', '<s> true', '</s> true', '<note> false'])
  await rm(folder, { recursive: true })
})

const NOTE = '<note>'
const BYTES = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
const SIGNS = [...'▁\nabcdefghijklmnopqrstuvwxyzé']
const chance = new Chance(16)
const one = <T>(of: readonly T[]): T => of[chance.below(of.length)]!

/** Each is of two that were there before: how each came about. */
const MERGES: [string, string][] = []
{
  const pieces = [...SIGNS]
  while (MERGES.length < 400) {
    const [a, b] = [one(pieces), one(pieces)]
    const piece = a + b
    // What repeats itself can be cut in two ways of one rank; a mark stands at the begin.
    if (new Set(piece).size < [...piece].length || /.▁/.test(piece) || pieces.includes(piece)) continue
    MERGES.push([a, b])
    pieces.push(piece)
  }
}
const PIECES = [...SIGNS, ...MERGES.map((pair) => pair.join(''))]
const TOKENS = ['<unk>', NOTE, ...BYTES, ...PIECES]
const KINDS = TOKENS.map((_, id) => (id === 0 ? 2 : id === 1 ? 4 : id < 258 ? 6 : 1))
const IDS = new Map(TOKENS.map((token, id) => [token, id]))

const TEXTS = Array.from({ length: 400 }, () =>
  Array.from({ length: 1 + chance.below(30) }, () =>
    one([' ', ' ', '  ', '\n', NOTE, 'ñ', '🙂', one(PIECES).replace('▁', ' '), one(PIECES).replace('▁', ' ')]),
  ).join(''),
)

/** As the descriptions have it: the best pair of neighbours becomes one, the first of several, until none is left. */
function merged(signs: readonly string[], rankOf: (a: string, b: string) => number | undefined): number[] {
  const parts = [...signs]
  for (;;) {
    let best: { at: number; rank: number } | undefined
    for (let at = 0; at + 1 < parts.length; at++) {
      const rank = rankOf(parts[at]!, parts[at + 1]!)
      if (rank !== undefined && (best === undefined || rank < best.rank)) best = { at, rank }
    }
    if (!best) break
    parts.splice(best.at, 2, parts[best.at]! + parts[best.at + 1]!)
  }
  const bytes = (part: string) => [...new TextEncoder().encode(part)].map((byte) => IDS.get(BYTES[byte]!)!)
  return parts.flatMap((part) => IDS.get(part) ?? bytes(part))
}

/** What stands between notes, in the way of `of`. */
const aroundNotes = (text: string, of: (section: string) => number[]) =>
  text.split(/(<note>)/).flatMap((part) => (part === NOTE ? [IDS.get(NOTE)!] : part === '' ? [] : of(part)))

const made = (model: string, more: Readonly<Record<string, unknown>>) => {
  const fields = { model, tokens: TOKENS, token_type: KINDS, unknown_token_id: 0, ...more }
  const metadata = new Map(Object.entries(fields).map(([key, value]) => [`tokenizer.ggml.${key}`, value]))
  const { tokenizer, tokenizerConfig } = readTokenizer('here', metadata)
  return new Tokenizer(tokenizer, tokenizerConfig)
}

describe('a vocabulary', () => {
  it.each([true, false])('of SentencePiece merges what scores highest first, a space before a text: %s', (prefix) => {
    // Scores of their own, not in the order of their making.
    const scores = TOKENS.map(() => -chance.next())
    const tokenizer = made('llama', { scores, add_space_prefix: prefix })
    const rankOf = (a: string, b: string) => {
      const id = IDS.get(a + b)
      return id === undefined ? undefined : -scores[id]!
    }
    for (const text of TEXTS) {
      const expected = aroundNotes(text, (section) =>
        merged([...`${prefix ? '▁' : ''}${section.replaceAll(' ', '▁')}`], rankOf),
      )
      expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(expected)
      if (!text.includes(NOTE)) expect(tokenizer.decode(expected)).toBe(text)
    }
  })

  it('of plain pairs, as Gemma 4’s, merges in the order of its list, within lines', () => {
    const tokenizer = made('gemma4', { merges: MERGES.map((pair) => pair.join(' ')) })
    const ranks = new Map(MERGES.map((pair, rank) => [pair.join(' '), rank]))
    for (const text of TEXTS) {
      const expected = aroundNotes(text, (section) =>
        (section.replaceAll(' ', '▁').match(/[^\n]+|\n+/g) ?? []).flatMap((line) =>
          merged([...line], (a, b) => ranks.get(`${a} ${b}`)),
        ),
      )
      expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(expected)
      expect(tokenizer.decode(expected)).toBe(text)
    }
  })
})
