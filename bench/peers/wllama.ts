/**
 * wllama (llama.cpp as WebAssembly) over the same 4-bit weights as a GGUF, in the page's worker. It is no dependency of
 * this repository: whoever serves the page takes it from a folder that the user names.
 */

import type { Candidate, Question, Subject, SubjectAnswer } from '../../src/bench/subject.js'
import { now } from '../../src/bench/time.js'
import { usefulThreads } from '../../src/device/cpu/team.js'
import { idsOf, wordOf } from './token-ids.js'

/** Addresses, and what the file at `gguf` is: plain JSON, for it crosses over to the page. */
export interface WllamaOptions {
  readonly module: string
  readonly wasm: string
  readonly gguf: string
  readonly version: string
  readonly model: string
  readonly vocabulary: number
  /** Whether all layers are on the GPU of the page, as wllama has it there by itself. */
  readonly gpu: boolean
  /** @default as many as our own CPU device takes */
  readonly threads?: number
  /** Answers side by side. */
  readonly sequences: number
  /** Tokens of the longest prompt and its answer. */
  readonly context: number
}

/** More than any model has. */
const ALL_LAYERS = 99_999

/** By what its llama.cpp says of each place where weights lie: where no GPU is fit for it, it computes on the CPU without an error. */
export const onGpu = (said: readonly string[]): boolean =>
  said.some((line) => /load_tensors:\s+(?!CPU)\S+ model buffer size/.test(line))

interface Chunk {
  /** In the last one. */
  readonly timings?: { readonly prompt_n: number; readonly cache_n: number; readonly predicted_n: number }
}
interface Wllama {
  loadModel(files: Blob[], options: object): Promise<void>
  createCompletion(options: object): Promise<void>
  getNumThreads(): number
  exit(): Promise<void>
}
interface Library {
  readonly Wllama: new (paths: object, options: object) => Wllama
}

export function wllamaCandidate(options: WllamaOptions): Candidate {
  return { name: nameOf(options), open: () => open(options) }
}

const nameOf = ({ gpu }: WllamaOptions) => (gpu ? 'wllama, WebGPU' : 'wllama')

/** What keeps it from answering here, or nothing: it takes a GPU that it finds fit, and says so only where it fails. */
export async function wllamaRefusal(options: WllamaOptions): Promise<string | undefined> {
  if (options.gpu && !(await gpuOf(navigator))) return `${nameOf(options)}: this page has no adapter of WebGPU.`
  try {
    const subject = await open(options)
    try {
      // It has failed at its second answer.
      for (const prompt of [0, 1, 2]) await subject.answer({ promptTokens: 32, prompt, tokens: 16 })
    } finally {
      await subject.close()
    }
    return undefined
  } catch (error) {
    return `${nameOf(options)} refuses: ${error instanceof Error ? error.message : String(error)}`
  }
}

const gpuOf = ({ gpu }: { readonly gpu?: { requestAdapter(): Promise<unknown> } }) => gpu?.requestAdapter()

async function open({ threads = usefulThreads(), sequences, context, ...options }: WllamaOptions): Promise<Subject> {
  const { module, wasm, gguf, version, model, vocabulary, gpu } = options
  const { Wllama } = (await import(module)) as Library
  const said: string[] = []
  const note = (...words: unknown[]) => void said.push(words.join(' '))
  const logger = { debug: note, log: note, warn: note, error: console.error }
  const wllama = new Wllama({ default: wasm }, { logger, suppressNativeLog: !gpu })
  const file = await (await fetch(gguf)).blob()
  await wllama.loadModel([file], {
    n_ctx: sequences * context,
    n_parallel: sequences,
    // As llama.cpp itself does: a sequence looks at its own cache alone.
    kv_unified: false,
    n_threads: threads,
    n_gpu_layers: gpu ? ALL_LAYERS : 0,
  })
  if (gpu && !onGpu(said)) {
    await wllama.exit()
    throw new Error('it found no GPU that it takes, and computes on the CPU.')
  }
  return {
    about: {
      engine: 'wllama',
      model,
      device: gpu ? 'webgpu' : 'cpu',
      deviceName: `wllama ${version}, threads: ${wllama.getNumThreads()}`,
      contextLength: context,
      notes: ['the same codes as Q4_0; prompts of made-up words, one token each'],
    },
    answer: (ask) => answer(wllama, ask, vocabulary),
    deviceBytes: () => undefined,
    close: () => wllama.exit(),
  }
}

async function answer(
  wllama: Wllama,
  { promptTokens, prompt, tokens }: Question,
  vocabulary: number,
): Promise<SubjectAnswer> {
  const text = idsOf(prompt, promptTokens, vocabulary).map(wordOf).join('')
  let first: number | undefined
  let timings: Chunk['timings']
  const start = now()
  await wllama.createCompletion({
    prompt: text,
    max_tokens: tokens,
    temperature: 0,
    ignore_eos: true,
    stream: true,
    onData(chunk: Chunk) {
      first ??= now()
      timings = chunk.timings ?? timings
    },
  })
  const end = now()
  if (timings === undefined) throw new Error('wllama did not say what it did.')
  return {
    seconds: (end - start) / 1000,
    firstSeconds: ((first ?? end) - start) / 1000,
    promptTokens: timings.prompt_n + timings.cache_n,
    cachedTokens: timings.cache_n,
    tokens: timings.predicted_n,
  }
}
