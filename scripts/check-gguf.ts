/**
 * Whether GGUF files answer here as they do in llama.cpp: the same tokens of a text, and the same greedy tokens behind
 * it; and a table of every architecture in every type. `--peers FOLDER` has node-llama-cpp in its `node_modules`.
 */
import '../test/oracles/wide.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { installed } from '../bench/peers/installed.js'
import { openCpuDevice } from '../src/device/cpu/index.js'
import { Tokenizer } from '../src/generate/tokenizer/tokenizer.js'
import { type MadeUp, writeMadeUp } from '../src/models/files/formats/gguf/made-up.test-helper.js'
import { READABLE } from '../src/models/files/formats/gguf/types.js'
import { openRepository } from '../src/models/files/open.js'
import { loadCore } from '../src/models/load.js'
import { ENCODERS } from '../test/oracles/encoders/index.js'
import { CASES as ARCHITECTURES } from '../test/oracles/families/index.js'
import { checkEcho } from './gguf/echo.js'
import { checkTypes, checkVectorTypes, FILE_TYPES } from './gguf/product.js'

interface Output {
  readonly next: { readonly probabilities?: Map<number, number> }
}
interface Model {
  readonly tokenizer: unknown
  tokenize(text: string, special?: boolean): number[]
  createContext(options: object): Promise<{
    getSequence(): { controlledEvaluate(input: [number, object][]): Promise<Output[]>; clearHistory(): Promise<void> }
  }>
}
interface Library {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<Model>; dispose(): Promise<void> }>
  readonly LlamaLogLevel: Readonly<Record<string, string>>
}

const TEMPLATE = '{{ messages[0].content }}'
const TOKENS = 24
const GREEDY = { temperature: 0, topP: 1, seed: 0, presencePenalty: 0, frequencyPenalty: 0, topLogprobs: 1 }
/** The tokens of a prompt, and their scripts: words of the vocabulary, spaces, bytes that no piece has. */
const PROMPT = 'kalo mire suta nepo vida  gohu, jabe fizo! 漢字 é <note> 12 345'
const TEXTS = [
  PROMPT,
  '',
  ' ',
  'a',
  '  ka\n\nlo\t',
  'Ünïcödé 🦊 и кириллица',
  'ka'.repeat(40),
  "don't we'll I'M 1234567",
]

/** In nats: llama.cpp rounds activations to 8 bits beside quantised weights, to f16 beside f16; so do we, otherwise. */
const NEAR_TIE = 0.2

interface GgufCase {
  readonly name: string
  readonly of: MadeUp
}

const CASES: GgufCase[] = [
  ...READABLE.map((label) => ({ name: label, of: { types: { '*': label } } })),
  {
    name: 'Q4_K_M, as llama.cpp mixes it',
    of: { types: { '*': 'Q4_K', attn_v: 'Q6_K', ffn_down: 'Q6_K', output: 'Q6_K' } },
  },
  { name: 'F16, BPE', of: { types: { '*': 'F16' }, vocabulary: 'bpe' } },
  { name: 'F32 of Qwen 2', of: { types: { '*': 'F32' }, architecture: 'qwen2', vocabulary: 'bpe' } },
  { name: 'F32 of Qwen 3', of: { types: { '*': 'F32' }, architecture: 'qwen3', vocabulary: 'bpe' } },
  { name: 'F16, version 2', of: { types: { '*': 'F16' }, version: 2 } },
  {
    name: 'F32, divisors of angles',
    of: { types: { '*': 'F32' }, factors: Float32Array.from({ length: 32 }, (_, i) => 1 + i / 4) },
  },
]

let failed = 0
function report(good: boolean, line: string): void {
  if (!good) failed++
  console.log(`${good ? 'ok  ' : 'FAIL'} ${line}`)
}

async function check(library: Library, peers: string, folder: string, { name, of }: GgufCase): Promise<void> {
  const path = join(folder, 'model.gguf')
  await writeMadeUp(path, { ...of, chatTemplate: TEMPLATE })
  const llama = await library.getLlama({
    gpu: false,
    build: 'never',
    maxThreads: 1,
    logLevel: library.LlamaLogLevel.error,
  })
  const { text, weights } = await openRepository(
    { kind: 'folder', path },
    { report: () => {}, signal: new AbortController().signal },
  )
  const tokenizer = new Tokenizer(text.tokenizer, text.tokenizerConfig)
  const device = await openCpuDevice({ exact: true, threads: 1 })
  const core = await loadCore(device, weights, { contextLength: 512 })
  try {
    const model = await llama.loadModel({ modelPath: path })
    const odd = TEXTS.filter((each) => tokenizer.encode(each).join() !== model.tokenize(each, true).join())
    const shown = odd.map(
      (each) => `${JSON.stringify(each)}: ${tokenizer.encode(each)} | ${model.tokenize(each, true)}`,
    )
    report(
      odd.length === 0,
      `${name}: ${TEXTS.length - odd.length} of ${TEXTS.length} texts have the same tokens ${shown.join('; ')}`,
    )
    const context = await model.createContext({
      contextSize: 512,
      batchSize: 512,
      threads: 1,
      flashAttention: false,
      experimentalKvCacheKeyType: 'F32',
      experimentalKvCacheValueType: 'F32',
    })
    const input = [...model.tokenize(PROMPT, true)]
    const wanted = { generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } } }
    const sequence = context.getSequence()
    // There it is the context that decides what is a long text.
    const own = core.open(core.contextLength)
    let same = 0
    let squares = 0
    let wrong = 0
    let fresh: readonly number[] = input
    for (let index = 0; index < TOKENS; index++) {
      const [sampled] = await core.step([{ sequence: own, tokens: [...fresh], sample: { ...GREEDY, index } }])
      const { token, logprob } = { logprob: Number.NaN, ...sampled! }
      await sequence.clearHistory()
      const outputs = await sequence.controlledEvaluate(input.map((id): [number, object] => [id, wanted]))
      const shares = outputs.at(-1)!.next.probabilities!
      const [best] = [...shares].sort((a, b) => b[1] - a[1])
      if (token === best![0]) same++
      else if (Math.log(best![1]) - Math.log(shares.get(token)!) > NEAR_TIE) wrong++
      squares += (Math.log(shares.get(token)!) - logprob) ** 2
      fresh = [token]
      input.push(token)
    }
    const rms = Math.sqrt(squares / TOKENS)
    report(
      wrong === 0,
      `${name}: ${same} of ${TOKENS} greedy tokens are the same, ${wrong} wrong; rms ${rms.toExponential(1)} nats`,
    )
    // Beside other weights llama.cpp rounds activations to 8 bits.
    if (!/^F(16|32)\b/.test(name)) return
    const { tokens, worst, good } = await checkEcho(path, model.tokenize(PROMPT, true), peers)
    report(good, `${name}: echo tells of ${tokens} tokens at most ${worst.toExponential(1)} nats from llama.cpp`)
  } finally {
    await core.close()
    device.destroy()
    await llama.dispose()
  }
}

/** Encoders that llama.cpp knows under a name that we do. */
const VECTORS = ENCODERS.filter(({ gguf }) => gguf && gguf.architecture !== 'gemma-embedding')

/** A line for each architecture; what is in it is told as it comes. */
async function checkArchitectures(names: readonly string[], types: readonly string[], peers: string): Promise<void> {
  const wanted = <T extends { readonly name: string }>(all: readonly T[]) =>
    all.filter(({ name }) => names.length === 0 || names.includes(name))
  const marked = (text: string, good: boolean) => `${text}${good ? '' : ' !'}`
  const texts: string[][] = []
  for (const of of wanted(ARCHITECTURES.filter(({ gguf }) => gguf))) {
    const row = [of.name]
    await checkTypes(of, types, peers, ({ type, judge, wrong, worst, same, rms, good }) => {
      row.push(marked(worst.toExponential(1), good))
      const exact = `${wrong} wrong tokens, at most ${worst.toExponential(1)} nats from ${judge} on the same numbers`
      report(good, `${of.name} in ${type}: ${exact}; on the blocks ${same} same tokens, rms ${rms.toExponential(1)}`)
    })
    texts.push(row)
  }
  const vectors: string[][] = []
  for (const of of wanted(VECTORS)) {
    const row = [of.name]
    await checkVectorTypes(of, types, peers, ({ type, cosine, onBlocks, good }) => {
      row.push(marked(cosine.toFixed(6), good))
      const exact = `cosine ${cosine.toFixed(7)} to llama.cpp on the same numbers`
      report(good, `${of.name} in ${type}: ${exact}; on the blocks ${onBlocks.toFixed(5)}`)
    })
    vectors.push(row)
  }
  print([['worst nats', ...types], ...texts])
  print([['least cosine', ...types], ...vectors])
}

function print(table: readonly (readonly string[])[]): void {
  if (table.length === 1) return
  const widths = table[0]!.map((_, i) => Math.max(...table.map((row) => row[i]!.length)))
  for (const row of table) console.log(row.map((cell, i) => cell.padEnd(widths[i]!)).join('  '))
}

interface Options {
  readonly peers: string
  readonly type: string[]
}

await new Command('check:gguf')
  .argument('[names...]', 'only architectures of this name, and cases whose names begin so')
  .requiredOption('--peers <folder>', 'where node-llama-cpp is installed')
  .option('--type <name...>', 'architectures only in these', Object.keys(FILE_TYPES))
  .action(async (names: string[], { peers, type: types }: Options) => {
    const library = (await import(pathToFileURL(installed(peers, 'node-llama-cpp')).href)) as Library
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-gguf-'))
    try {
      for (const each of CASES) {
        if (names.length === 0 || names.some((wanted) => each.name.startsWith(wanted)))
          await check(library, peers, folder, each)
      }
    } finally {
      await rm(folder, { recursive: true })
    }
    await checkArchitectures(names, types, peers)
  })
  .parseAsync()
console.log(failed === 0 ? 'All hold.' : `${failed} do not hold.`)
// llama.cpp keeps threads that would keep the process.
process.exit(failed > 0 ? 1 : 0)
