/**
 * llama.cpp's own code (node-llama-cpp) over the same 4-bit weights as a GGUF. It is no dependency of this repository: it
 * is taken from a folder that the user names.
 */
import { pathToFileURL } from 'node:url'
import { LABELS } from '../../src/bench/scenarios/decide.js'
import type {
  Candidate,
  DecisionsTiming,
  DecisionsTrial,
  Question,
  Subject,
  SubjectAnswer,
} from '../../src/bench/subject.js'
import { now } from '../../src/bench/time.js'
import type { Gguf } from './gguf.js'
import { installed } from './installed.js'
import { idsOf } from './token-ids.js'

interface Sequence {
  readonly nextTokenIndex: number
  evaluate(tokens: number[], options: object): AsyncGenerator<number>
  controlledEvaluate(
    input: (number | [number, object])[],
  ): Promise<({ readonly next: { readonly probabilities?: Map<number, number> } } | undefined)[]>
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
  readonly gguf: Gguf
  readonly threads: number
  /** Answers side by side. */
  readonly sequences: number
  /** Tokens of the longest prompt and its answer. */
  readonly context: number
}

export async function llamaCandidate(options: LlamaOptions): Promise<Candidate> {
  const module = installed(options.peers, 'node-llama-cpp')
  const library = (await import(pathToFileURL(module).href)) as Library
  return { name: 'llama.cpp', open: () => open(library, options) }
}

async function open(library: Library, options: LlamaOptions): Promise<Subject> {
  const { threads, sequences, context: contextSize, model, gguf } = options
  const logLevel = library.LlamaLogLevel.error
  const llama = await library.getLlama({ gpu: false, build: 'never', maxThreads: threads, logLevel })
  const loaded = await llama.loadModel({ modelPath: gguf.path })
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
    answer: (ask) => answer(held, ask, gguf.vocabulary),
    decide: (ask) => decide(held[0]!, ask, gguf.vocabulary),
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

async function answer(
  held: Held[],
  { promptTokens, prompt, tokens }: Question,
  vocabulary: number,
): Promise<SubjectAnswer> {
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

const PROBABILITIES = { generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } } }

/** As servers of llama.cpp do: the state is kept, each question goes on from it, and its next token's labels are read. */
async function decide(
  held: Held,
  { prompt, stateTokens, questions, questionTokens, first }: DecisionsTrial,
  vocabulary: number,
): Promise<DecisionsTiming> {
  const { sequence } = held
  const start = now()
  const known = held.prompt === prompt ? stateTokens : 0
  held.prompt = prompt
  if (known === 0) {
    await sequence.clearHistory()
    await sequence.controlledEvaluate(idsOf(prompt, stateTokens, vocabulary))
  }
  const sums: number[] = []
  for (let i = 0; i < questions; i++) {
    await sequence.eraseContextTokenRanges([{ start: stateTokens, end: sequence.nextTokenIndex }])
    const ids = idsOf(prompt + first + i + 1, questionTokens, vocabulary)
    const input = ids.map((id, k): number | [number, object] => (k < ids.length - 1 ? id : [id, PROBABILITIES]))
    const probabilities = (await sequence.controlledEvaluate(input)).at(-1)!.next.probabilities!
    sums.push(LABELS.reduce((sum, _, label) => sum + (probabilities.get(ids[label]!) ?? 0), 0))
  }
  const seconds = (now() - start) / 1000
  if (sums.some((sum) => Number.isNaN(sum))) throw new Error('A label was told no probability.')
  return { seconds, promptTokens: stateTokens + questions * questionTokens, cachedTokens: known }
}
