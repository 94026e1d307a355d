/**
 * llama.cpp's own code (node-llama-cpp) over the same 4-bit weights as a GGUF. It is no dependency of this repository: it
 * is taken from a folder that the user names.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readDecoderConfig } from '../../src/engines/webgpu/model/config.js'
import type { WeightSource } from '../../src/engines/webgpu/weights/source.js'
import { writeGguf } from '../cpu/gguf.js'
import type { Answer, Ask, Candidate, Subject } from '../harness/subject.js'
import { now } from '../harness/time.js'

interface Sequence {
  readonly nextTokenIndex: number
  evaluate(tokens: number[], options: object): AsyncGenerator<number>
  clearHistory(): Promise<void>
  eraseContextTokenRanges(ranges: { start: number; end: number }[]): Promise<void>
}
interface Context {
  getSequence(): Sequence
}
interface Llama {
  loadModel(options: object): Promise<{ createContext(options: object): Promise<Context> }>
  dispose(): Promise<void>
}
interface Library {
  getLlama(options: object): Promise<Llama>
  readonly LlamaLogLevel: { readonly error: string }
}

export interface LlamaOptions {
  /** The folder in whose `node_modules` it is installed. */
  readonly peers: string
  readonly model: string
  readonly weights: WeightSource
  readonly threads: number
  /** Answers side by side. */
  readonly sequences: number
  /** Tokens of the longest prompt and its answer. */
  readonly context: number
}

/** The weights are written as GGUF first: that is no part of loading. `remove` deletes the file. */
export async function llamaCandidate(options: LlamaOptions): Promise<Candidate & { remove(): Promise<void> }> {
  const config = readDecoderConfig(options.weights.chatConfig, options.model)
  if (!config.tied) throw new TypeError('Only models whose embeddings are their head too can be written as GGUF.')
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-gguf-'))
  const path = join(folder, 'model.gguf')
  await writeGguf(path, { ...config, name: options.model }, options.weights, options.context)
  const require = createRequire(join(resolve(options.peers), 'here.js'))
  const library = (await import(pathToFileURL(require.resolve('node-llama-cpp')).href)) as Library
  return {
    name: 'llama.cpp',
    open: () => open(library, path, options, config.vocabulary),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function open(library: Library, path: string, options: LlamaOptions, vocabulary: number): Promise<Subject> {
  const { threads, sequences, context: contextSize, model } = options
  const logLevel = library.LlamaLogLevel.error
  const llama = await library.getLlama({ gpu: false, build: 'never', maxThreads: threads, logLevel })
  const loaded = await llama.loadModel({ modelPath: path })
  const context = await loaded.createContext({ contextSize, sequences, threads: { ideal: threads, min: threads } })
  const held = Array.from({ length: sequences }, (): Held => ({ sequence: context.getSequence(), prompt: -1 }))
  return {
    about: {
      engine: 'llama.cpp',
      model,
      device: 'cpu',
      deviceName: `node-llama-cpp, ${threads} threads`,
      contextLength: contextSize,
      notes: ['the same codes as Q4_0; prompts and answers as token ids, no text'],
    },
    answer: (ask) => answer(held, ask, vocabulary),
    deviceBytes: () => undefined,
    close: () => llama.dispose(),
  }
}

/** A sequence, and the prompt whose tokens it holds. */
interface Held {
  readonly sequence: Sequence
  prompt: number
  busy?: boolean
}

const GREEDY = { temperature: 0, yieldEogToken: true }

async function answer(held: Held[], { promptTokens, prompt, tokens }: Ask, vocabulary: number): Promise<Answer> {
  const start = now()
  const free = held.filter(({ busy }) => !busy)
  const place = free.find((one) => one.prompt === prompt) ?? free[0]
  if (place === undefined) throw new Error('More answers side by side than sequences.')
  // Least recently used first.
  held.push(...held.splice(held.indexOf(place), 1))
  place.busy = true
  try {
    const known = place.prompt === prompt ? promptTokens - 1 : 0
    place.prompt = prompt
    const { sequence } = place
    if (known === 0) await sequence.clearHistory()
    else await sequence.eraseContextTokenRanges([{ start: known, end: sequence.nextTokenIndex }])
    let first: number | undefined
    let count = 0
    for await (const _ of sequence.evaluate(idsOf(prompt, promptTokens, vocabulary).slice(known), GREEDY)) {
      first ??= now()
      if (++count === tokens) break
    }
    const end = now()
    const [seconds, firstSeconds] = [(end - start) / 1000, ((first ?? end) - start) / 1000]
    return { seconds, firstSeconds, promptTokens, cachedTokens: known, tokens: count }
  } finally {
    place.busy = false
  }
}

/** Ids of ordinary tokens by a seeded generator. */
function idsOf(prompt: number, count: number, vocabulary: number): number[] {
  let state = (prompt * 2654435761 + 1) >>> 0
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return 300 + ((state >>> 8) % (vocabulary - 300))
  })
}
