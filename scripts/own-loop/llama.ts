/** `examples/own-loop/node-llama-cpp.ts` in node-llama-cpp, over a Llama of one small layer. */

import { pathToFileURL } from 'node:url'
import { F32, Metadata, type Tensor, writeGgufFile } from '../../bench/peers/gguf-file.js'
import { installed } from '../../bench/peers/installed.js'
import { type Grammar, Vocabulary } from '../../src/grammar/structured.js'
import { exampleOf } from './examples.js'

interface Sequence {
  clearHistory(): Promise<void>
}
interface Model {
  createContext(options: object): Promise<{ getSequence(): Sequence }>
}
interface Library {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<Model> }>
  readonly LlamaLogLevel: { readonly error: string }
}

const [HIDDEN, HEADS, INNER, CONTEXT] = [64, 2, 64, 256]
const CONTROL = ['<unk>', '<s>', '</s>']
const FIRST_WORD = CONTROL.length + 256
const WORDS =
  '{" ": ," "} "," "}} [" "] ", null true false name age tags red green blue at where x ye s 19 20 é 的'.split(' ')
const SIZE = 320
const EOS = 2

const hex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, '0')
const wordOf = (id: number) =>
  CONTROL[id] ?? (id < FIRST_WORD ? `<0x${hex(id - CONTROL.length)}>` : (WORDS[id - FIRST_WORD] ?? `w${id}`))

/** llama.cpp's vocabulary, as bytes. */
function vocabularyOf(): Vocabulary {
  const bytesOf = (id: number) => {
    if (id < CONTROL.length) return undefined
    return id < FIRST_WORD ? Uint8Array.of(id - CONTROL.length) : new TextEncoder().encode(wordOf(id))
  }
  return new Vocabulary(
    Array.from({ length: SIZE }, (_, id) => bytesOf(id)),
    { eos: EOS },
  )
}

function metadata(): Metadata {
  const out = new Metadata()
  out.text('general.architecture', 'llama')
  out.u32('llama.context_length', CONTEXT)
  out.u32('llama.embedding_length', HIDDEN)
  out.u32('llama.block_count', 1)
  out.u32('llama.feed_forward_length', INNER)
  out.u32('llama.attention.head_count', HEADS)
  out.u32('llama.attention.head_count_kv', HEADS)
  out.u32('llama.rope.dimension_count', HIDDEN / HEADS)
  out.u32('llama.vocab_size', SIZE)
  out.float('llama.attention.layer_norm_rms_epsilon', 1e-5)
  out.text('tokenizer.ggml.model', 'llama')
  const ids = Array.from({ length: SIZE }, (_, id) => id)
  out.texts('tokenizer.ggml.tokens', ids.map(wordOf))
  out.floats('tokenizer.ggml.scores', new Float32Array(SIZE))
  const kindOf = (id: number) => (id === 0 ? 2 : id < CONTROL.length ? 3 : id < FIRST_WORD ? 6 : 1)
  out.integers('tokenizer.ggml.token_type', Int32Array.from(ids, kindOf))
  out.u32('tokenizer.ggml.bos_token_id', 1)
  out.u32('tokenizer.ggml.eos_token_id', EOS)
  out.flag('tokenizer.ggml.add_bos_token', false)
  return out
}

function tensors(random: () => number): Tensor[] {
  const made = (name: string, dims: readonly number[], value = () => random() - 0.5): Tensor => {
    const values = Float32Array.from({ length: dims.reduce((a, b) => a * b) }, value)
    return { name, dims, type: F32, bytes: values.byteLength, data: async () => Buffer.from(values.buffer) }
  }
  const ones = (name: string) => made(name, [HIDDEN], () => 1)
  const square = ['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((name) =>
    made(`blk.0.${name}.weight`, [HIDDEN, HIDDEN]),
  )
  return [
    made('token_embd.weight', [HIDDEN, SIZE]),
    ones('output_norm.weight'),
    ones('blk.0.attn_norm.weight'),
    ones('blk.0.ffn_norm.weight'),
    ...square,
    made('blk.0.ffn_gate.weight', [HIDDEN, INNER]),
    made('blk.0.ffn_up.weight', [HIDDEN, INNER]),
    made('blk.0.ffn_down.weight', [INNER, HIDDEN]),
  ]
}

const PROMPTS = [
  [FIRST_WORD, FIRST_WORD + 1],
  [FIRST_WORD + 40, FIRST_WORD + 7, FIRST_WORD + 20],
]

export async function checkLlama(
  peers: string,
  folder: string,
  grammars: readonly Grammar[],
  random: () => number,
  judge: (what: string, schema: number, text: string) => void,
): Promise<void> {
  const library = (await import(pathToFileURL(installed(peers, 'node-llama-cpp')).href)) as Library
  const grammarTokens = await exampleOf('node-llama-cpp.ts', 'grammarTokens')
  const path = `${folder}/tiny.gguf`
  await writeGgufFile(path, metadata(), tensors(random))
  const llama = await library.getLlama({
    gpu: false,
    build: 'never',
    maxThreads: 1,
    logLevel: library.LlamaLogLevel.error,
  })
  const model = await llama.loadModel({ modelPath: path })
  const sequence = (await model.createContext({ contextSize: CONTEXT, threads: 1 })).getSequence()
  const vocabulary = vocabularyOf()
  for (const [i, grammar] of grammars.entries()) {
    for (const prompt of PROMPTS) {
      for (const temperature of [0, 1.5]) {
        await sequence.clearHistory()
        const bytes: number[] = []
        for await (const token of grammarTokens(sequence, prompt, grammar, vocabulary, {
          maxTokens: 120,
          temperature,
        })) {
          bytes.push(...vocabulary.bytes(token))
        }
        judge(`node-llama-cpp, temperature ${temperature}`, i, new TextDecoder().decode(Uint8Array.from(bytes)))
      }
    }
  }
}
