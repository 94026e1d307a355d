/** Our core and llama.cpp over one file, asked for the same: to read a prompt, and to write behind what was read. */
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { GREEDY } from '../../src/models/architectures/cases.test-helper.js'
import { openRepository } from '../../src/models/files/open.js'
import { loadCore } from '../../src/models/load.js'

/** All but `fill` and `close` say tokens a second. */
export interface Side {
  read(length: number): Promise<number>
  /** What is written next stands behind so many tokens; what was read for fewer is read no more. */
  fill(length: number): Promise<void>
  write(tokens: number): Promise<number>
  close(): Promise<void>
}

export interface SideOptions {
  readonly threads: number
  readonly context: number
  /** Milliseconds. */
  readonly clock: () => number
}

/** Ordinary tokens of any of the vocabularies. */
const text = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => 300 + ((from + i) % 30_000))

export async function ourSide(path: string, { threads, context, clock }: SideOptions): Promise<Side> {
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  const { weights } = await openRepository({ kind: 'folder', path }, options)
  const device = await openCpuDevice({ threads })
  const core = await loadCore(device, weights, { contextLength: context, cacheTokens: 2 * context, maxBatch: 1 })
  const { topLogprobs: _, ...sample } = GREEDY
  let held = core.open()
  let token = 0
  const feed = async (sequence: typeof held, tokens: readonly number[]) => {
    for (let at = 0; at < tokens.length; at += core.maxChunk) {
      const last = at + core.maxChunk >= tokens.length
      const chunk = tokens.slice(at, at + core.maxChunk)
      const [drawn] = await core.step([{ sequence, tokens: chunk, ...(last && { sample }) }])
      if (drawn) token = drawn.token
    }
  }
  return {
    async read(length) {
      const sequence = core.open()
      const start = clock()
      await feed(sequence, text(0, length))
      const seconds = (clock() - start) / 1000
      sequence.close()
      return length / seconds
    },
    async fill(length) {
      if (held.length > length) {
        held.close()
        held = core.open()
      }
      await feed(held, text(held.length, length))
    },
    async write(tokens) {
      const start = clock()
      for (let i = 0; i < tokens; i++) {
        token = (await core.step([{ sequence: held, tokens: [token], sample }]))[0]!.token
      }
      return (1000 * tokens) / (clock() - start)
    },
    async close() {
      await core.close()
      device.destroy()
    },
  }
}

export interface Llama {
  loadModel(options: object): Promise<{
    createContext(options: object): Promise<{
      getSequence(): {
        readonly nextTokenIndex: number
        evaluate(tokens: number[], options: object): AsyncGenerator<number>
        clearHistory(): Promise<void>
      }
      dispose(): Promise<void>
    }>
    dispose(): Promise<void>
  }>
}

export async function theirSide(llama: Llama, path: string, { threads, context, clock }: SideOptions): Promise<Side> {
  const model = await llama.loadModel({ modelPath: path })
  const native = await model.createContext({ contextSize: context, threads: { ideal: threads, min: threads } })
  const sequence = native.getSequence()
  let token = 0
  /** The first of those that follow; it stands in the sequence only when it is evaluated. */
  const evaluate = async (tokens: number[], count: number) => {
    let start = 0
    let seen = 0
    for await (const drawn of sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
      token = drawn
      if (seen === 0) start = clock()
      if (seen++ === count) break
    }
    return start
  }
  return {
    async read(length) {
      await sequence.clearHistory()
      const start = clock()
      return (1000 * length) / ((await evaluate(text(0, length), 0)) - start)
    },
    async fill(length) {
      if (sequence.nextTokenIndex > length) await sequence.clearHistory()
      if (sequence.nextTokenIndex < length) await evaluate(text(sequence.nextTokenIndex, length), 0)
    },
    async write(tokens) {
      const start = await evaluate([token], tokens)
      return (1000 * tokens) / (clock() - start)
    },
    async close() {
      await native.dispose()
      await model.dispose()
    },
  }
}
