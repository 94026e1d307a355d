/** llama.cpp (node-llama-cpp, from a folder that the user names) as the judge of greedy tokens and log probabilities. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installed } from '../../bench/peers/installed.js'
import type { Case, Weights } from '../../test/oracles/family.js'
import { type Described, type GgufType, writeGguf } from '../../test/oracles/files/gguf.js'

interface Output {
  readonly next: { readonly token?: number; readonly probabilities?: Map<number, number> }
}
interface Sequence {
  controlledEvaluate(input: (number | [number, object])[]): Promise<(Output | undefined)[]>
}
interface Llama {
  loadModel(options: object): Promise<{
    createContext(options: object): Promise<{ getSequence(): Sequence; dispose(): Promise<void> }>
    /** `rank` takes texts, which it surrounds in a way of its own; what is below it takes the tokens as they are. */
    createRankingContext(options: object): Promise<{ _evaluateRankingForInput(tokens: number[]): Promise<number> }>
    createEmbeddingContext(options: object): Promise<{
      getEmbeddingFor(tokens: number[]): Promise<{ readonly vector: readonly number[] }>
    }>
  }>
  dispose(): Promise<void>
}
interface Library {
  getLlama(options: object): Promise<Llama>
  readonly LlamaLogLevel: Readonly<Record<string, string>>
}

/** Log probabilities after each of the last `count` tokens. */
export async function llamaCpp(
  peers: string,
  of: Case,
  weights: Weights,
  tokens: readonly number[],
  count: number,
  type: GgufType = 'F32',
  cache: LlamaCache = 'F32',
): Promise<((token: number) => number)[]> {
  const request = { of, tokens, count, cache }
  const all = await written(of, weights, type, (modelPath) => probabilitiesOf(peers, modelPath, request))
  return all.map((shares) => (token: number) => Math.log(shares.get(token) ?? 0))
}

/** How llama.cpp keeps keys and values. */
export type LlamaCache = 'F32' | 'Q8_0' | 'Q4_0'

interface AskedOf {
  readonly of: Pick<Case, 'context'>
  readonly tokens: readonly number[]
  readonly count: number
  readonly cache?: LlamaCache
}

/** Of a file that is there, which is a form of the case: probabilities. */
export const probabilitiesOf = (peers: string, modelPath: string, request: AskedOf): Promise<Map<number, number>[]> =>
  withModelAt(peers, modelPath, (model) => probabilitiesIn(model, request))

async function probabilitiesIn(model: Model, { of, tokens, count, cache = 'F32' }: AskedOf) {
  const context = await model.createContext({
    contextSize: of.context ?? 1024,
    batchSize: 512,
    threads: 1,
    // Without it values are not kept in blocks.
    flashAttention: cache !== 'F32',
    experimentalKvCacheKeyType: cache,
    experimentalKvCacheValueType: cache,
  })
  try {
    const wanted = { generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } } }
    const from = tokens.length - count
    const input = tokens.map((token, i): number | [number, object] => (i < from ? token : [token, wanted]))
    const outputs = await context.getSequence().controlledEvaluate(input)
    return outputs.slice(from).map((output) => output!.next.probabilities!)
  } finally {
    await context.dispose()
  }
}

/** Log probabilities after each of the last `count` tokens of each text, every one of them read alone. */
export function llamaCppOfEach(
  peers: string,
  of: Case,
  weights: Weights,
  texts: readonly { readonly tokens: readonly number[]; readonly count: number }[],
): Promise<((token: number) => number)[][]> {
  return withModel(peers, of, weights, async (model) => {
    const logprobs: ((token: number) => number)[][] = []
    for (const { tokens, count } of texts) {
      const all = await probabilitiesIn(model, { of, tokens, count })
      logprobs.push(all.map((shares) => (token: number) => Math.log(shares.get(token) ?? 0)))
    }
    return logprobs
  })
}

/** The vectors of texts. */
export function llamaVectors(
  peers: string,
  of: Described,
  weights: Weights,
  texts: readonly (readonly number[])[],
): Promise<(readonly number[])[]> {
  return written(of, weights, 'F32', (modelPath) => vectorsOf(peers, modelPath, texts))
}

/** Of a file that is there. */
export function vectorsOf(
  peers: string,
  modelPath: string,
  texts: readonly (readonly number[])[],
): Promise<(readonly number[])[]> {
  return withModelAt(peers, modelPath, async (model) => {
    const context = await model.createEmbeddingContext({ contextSize: 256, batchSize: 256, threads: 1 })
    const vectors: (readonly number[])[] = []
    for (const text of texts) vectors.push((await context.getEmbeddingFor([...text])).vector)
    return vectors
  })
}

/** How relevant each is, between 0 and 1. */
export function llamaScores(
  peers: string,
  of: Described,
  weights: Weights,
  pairs: readonly (readonly number[])[],
): Promise<number[]> {
  return withModel(peers, of, weights, async (model) => {
    const context = await model.createRankingContext({ contextSize: 256, batchSize: 256, threads: 1 })
    const scores: number[] = []
    for (const pair of pairs) scores.push(await context._evaluateRankingForInput([...pair]))
    return scores
  })
}

type Model = Awaited<ReturnType<Llama['loadModel']>>

function withModel<T>(
  peers: string,
  of: Described,
  weights: Weights,
  action: (model: Model) => Promise<T>,
): Promise<T> {
  return written(of, weights, 'F32', (modelPath) => withModelAt(peers, modelPath, action))
}

async function withModelAt<T>(peers: string, modelPath: string, action: (model: Model) => Promise<T>): Promise<T> {
  const library = (await import(pathToFileURL(installed(peers, 'node-llama-cpp')).href)) as Library
  const logLevel = library.LlamaLogLevel.error
  const llama = await library.getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel })
  try {
    return await action(await llama.loadModel({ modelPath }))
  } finally {
    await llama.dispose()
  }
}

/** With the model as a file, which is then removed. */
async function written<T>(
  of: Described,
  weights: Weights,
  type: GgufType,
  action: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-models-'))
  const path = join(folder, 'model.gguf')
  try {
    await writeGguf(path, of, weights, type)
    return await action(path)
  } finally {
    await rm(folder, { recursive: true })
  }
}
