/** Our engine over llama.cpp (`local-v1/llama-cpp`) on a case's GGUF, held to float64 by what `/v1/completions` says. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installed } from '../../bench/peers/installed.js'
import { llamaCpp } from '../../src/engines/llama-cpp/index.js'
import type { LlamaCppLibrary } from '../../src/engines/llama-cpp/library.js'
import { createV1, type V1 } from '../../src/index.js'
import type { Case, Weights } from '../../test/oracles/family.js'
import { writeGguf } from '../../test/oracles/files/gguf.js'
import { inHalves, logSoftmax } from '../../test/oracles/float64.js'
import { type Answer, answerOf, retold } from '../../test/oracles/judge.js'
import { ajvOf } from '../schemas/oracle.js'
import { AS_FAR } from './our-core.js'
import type { Rows } from './rows.js'
import { alike, compared, type Likely } from './ties.js'

export const OVER_LLAMA_CPP = 'local-v1/llama-cpp'
export const FORM = 'GGUF F32'
/** The most that the endpoint tells of a position, and as many as are compared. */
const TOP = 20
const MODEL = 'made/up'
/** Nats at a step: another expert moves some token by more, and what llama.cpp rounds moves none by as much. */
const OTHER_EXPERT = 0.1
/** For each step. */
const MOST_OTHERS = 1 / 32

const SCHEMA = {
  type: 'object',
  properties: {
    word: { type: 'string', maxLength: 8 },
    kind: { enum: ['lo', 'mire', 'mi'] },
    count: { type: 'integer', minimum: 0, maximum: 999 },
    flags: { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 3 },
  },
  required: ['word', 'kind', 'count', 'flags'],
  additionalProperties: false,
}

interface Options {
  readonly rows: Rows
  readonly tokens: number
  readonly peers: string
}

interface Choice {
  readonly text: string
  readonly token_ids: readonly number[]
  readonly finish_reason: string
  readonly logprobs: { readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[] } | null
}
interface Completion {
  readonly choices: readonly Choice[]
  readonly usage: { readonly prompt_tokens_details: { readonly cached_tokens: number } }
}

/** What was said after a prompt, and what was predicted before each token of it. */
interface Said {
  readonly tokens: readonly number[]
  readonly predicted: readonly Likely[]
}

export async function checkOverLlamaCpp(of: Case, weights: Weights, { rows, tokens, peers }: Options): Promise<void> {
  if (!of.gguf) return
  const is = { family: of.name, kind: 'text', what: FORM, device: OVER_LLAMA_CPP } as const
  await rows.once(is, 'decoders over llama.cpp', () => verdictOf(of, weights, tokens, peers), tokens)
}

/**
 * Float64 keeps keys and values in f16, as llama.cpp does by itself. That one keeps sums of values in f16, too, where it
 * reads a token or a few, which is further off than what our core is held to: so it is asked how far it is by itself.
 */
async function verdictOf(of: Case, weights: Weights, count: number, peers: string) {
  const answer = answerOf(of, weights, count, inHalves)
  const { ways, documents, theirs } = await withFile(of, weights, async (path) => {
    const load = async () => (await import(pathToFileURL(installed(peers, 'node-llama-cpp')).href)) as LlamaCppLibrary
    const ours = await withEngine(of, path, load, async (v1) => ({
      ways: await waysOf(v1, of, answer),
      documents: await documentsOf(v1, answer.tokens.slice(0, of.prompt)),
    }))
    return {
      ...ours,
      theirs: held(of, weights, answer, { tokens: [], predicted: await byItself(of, path, load, answer) }, 0),
    }
  })
  const bound = AS_FAR * theirs.rms
  // A lead is the difference of two.
  const lead = 2 * theirs.worst
  const verdicts = Object.entries(ways).map(([way, one]) => ({ way, ...held(of, weights, answer, one, lead) }))
  const otherTokens = Math.max(...verdicts.map(({ wrongTokens }) => wrongTokens))
  const rms = Math.max(...verdicts.map(({ rms }) => rms))
  const otherExperts = Math.max(...verdicts.map(({ otherExperts }) => otherExperts))
  const mistaken = leastMistake(of, weights, answer, ways.whole!)
  return {
    tokens: count,
    otherTokens,
    rms,
    worst: Math.max(...verdicts.map(({ worst }) => worst)),
    bound,
    mistaken,
    documents,
    otherExperts,
    good: rms < bound && otherTokens === 0 && mistaken > bound && documents && otherExperts <= count * MOST_OTHERS,
    ways: Object.fromEntries(verdicts.map(({ way, rms }) => [way, rms])),
  }
}

/** Beside float64 of the very tokens that were said: of two as likely either may be, and what follows is of that text. */
function held(of: Case, weights: Weights, answer: Answer, { tokens, predicted }: Said, lead: number) {
  const text = [...answer.tokens.slice(0, of.prompt), ...tokens]
  const actual = { ...answer, tokens: text }
  const same = text.every((token, i) => token === answer.tokens[i])
  const known = same ? answer : { ...actual, logprobs: retold(of, weights, actual, undefined, inHalves) }
  const { truth, otherExperts } = alike(of, weights, known, predicted, OTHER_EXPERT)
  const verdict = compared(truth, predicted, lead)
  const unlikely = tokens.filter((token, i) => predicted[i]!.get(token) !== Math.max(...predicted[i]!.values())).length
  return { ...verdict, wrongTokens: Math.max(verdict.wrongTokens, unlikely), otherExperts }
}

/** How far off it is from who goes on from a text that lacks its last token but one, and who tells of the position before. */
function leastMistake(of: Case, weights: Weights, { tokens, logprobs }: Answer, { predicted }: Said): number {
  const count = logprobs.length
  const shorter = tokens.filter((_, i) => i !== of.prompt - 2)
  const lacking = retold(of, weights, { tokens: shorter, logprobs }, undefined, inHalves)
  const reference = of.reference(weights, undefined, inHalves)
  const before = tokens.slice(0, -2).map((token) => logSoftmax(reference.step(token)))
  return Math.min(...[lacking, before.slice(-count)].map((mistaken) => compared(mistaken, predicted).rms))
}

/** However sequences come by what they hold: from nothing, as a prompt, beside others, as copies, from what was kept. */
async function waysOf(v1: V1, of: Case, { tokens, logprobs }: Answer): Promise<Readonly<Record<string, Said>>> {
  const count = logprobs.length
  const prompt = tokens.slice(0, of.prompt)
  const readChoice = ({ token_ids, logprobs }: Choice): Said => {
    if (token_ids.length !== count) throw new Error(`It says ${token_ids.length} tokens in place of ${count}.`)
    return { tokens: token_ids, predicted: likelyOf(logprobs!.top_logprobs) }
  }
  const greedy = { logprobs: TOP, max_tokens: count, temperature: 0, ignore_eos: true, return_token_ids: true }
  const alone = await complete(v1, { prompt, ...greedy })
  const whole = await complete(v1, { prompt: tokens, logprobs: TOP, echo: true, max_tokens: 0 })
  const others = [[...prompt].reverse(), prompt.slice(5)]
  const company = await complete(v1, { prompt: [others[0], prompt, others[1]], ...greedy })
  const copies = await complete(v1, { prompt, n: 2, ...greedy })
  const again = await complete(v1, { prompt, ...greedy })
  if (again.usage.prompt_tokens_details.cached_tokens === 0) throw new Error('Nothing was kept to go on from.')
  return {
    alone: readChoice(alone.choices[0]!),
    whole: { tokens: [], predicted: likelyOf(whole.choices[0]!.logprobs!.top_logprobs.slice(-count)) },
    'in company': readChoice(company.choices[1]!),
    'from a copy': readChoice(copies.choices[1]!),
    again: readChoice(again.choices[0]!),
  }
}

const likelyOf = (topLogprobs: readonly (Readonly<Record<string, number>> | null)[]): Likely[] =>
  topLogprobs.map(
    (each) => new Map(Object.entries(each!).map(([name, logprob]) => [Number(/\d+$/.exec(name)![0]), logprob])),
  )

/** Whether documents, greedy and by chance, satisfy their schema, which what the model says by itself does not. */
async function documentsOf(v1: V1, prompt: readonly number[]): Promise<boolean> {
  const holds = ajvOf(SCHEMA)!
  const satisfies = ({ text }: Choice) => {
    try {
      return holds(JSON.parse(text))
    } catch {
      return false
    }
  }
  const response_format = { type: 'json_schema', json_schema: { name: 'it', strict: true, schema: SCHEMA } }
  const request = { prompt, response_format, max_tokens: 256 }
  const [greedy, chance, free] = [
    await complete(v1, { ...request, temperature: 0 }),
    await complete(v1, { ...request, n: 4, seed: 7 }),
    await complete(v1, { prompt, max_tokens: 64, temperature: 0 }),
  ]
  return [...greedy.choices, ...chance.choices].every(satisfies) && !free.choices.some(satisfies)
}

async function complete(v1: V1, request: object): Promise<Completion> {
  const body = JSON.stringify({ model: MODEL, return_tokens_as_token_ids: true, ...request })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const answer = await v1.fetch(new Request('http://localhost/v1/completions', init))
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Completion
}

type Load = () => Promise<LlamaCppLibrary>

const contextOf = ({ context = 1024 }: Case) => context

async function withEngine<T>(of: Case, from: string, loader: Load, use: (v1: V1) => Promise<T>): Promise<T> {
  const models = [{ id: MODEL, from, contextLength: contextOf(of) }]
  const v1 = createV1({
    engine: llamaCpp({ models, loader, device: 'cpu', threads: 1, log: () => {} }),
    keys: 'none',
    log: () => {},
  })
  try {
    return await use(v1)
  } finally {
    await v1.close()
  }
}

/** What llama.cpp tells when nothing of ours is in between: of the prompt at once, and of each token after it alone. */
async function byItself(of: Case, modelPath: string, load: Load, { tokens }: Answer): Promise<Likely[]> {
  const options = { gpu: false, build: 'never', skipDownload: true, logLevel: 'error', maxThreads: 1 } as const
  const llama = await (await load()).getLlama({ ...options, logger: () => {} })
  try {
    const { signal: createSignal } = new AbortController()
    const model = await llama.loadModel({ modelPath, loadSignal: createSignal, onLoadProgress: () => {} })
    const cells = contextOf(of)
    const opened = { contextSize: cells, batchSize: Math.min(512, cells), sequences: 1, threads: 1, createSignal }
    const sequence = (await model.createContext(opened)).getSequence()
    const predicted: Likely[] = []
    await sequence.controlledEvaluate(tokens.slice(0, of.prompt - 1))
    for (const token of tokens.slice(of.prompt - 1, -1)) {
      const tokenOptions = { generateNext: { logits: true, options: { temperature: 0 } } } as const
      const [after] = await sequence.controlledEvaluate([[token, tokenOptions]])
      const logits = Float64Array.from({ length: of.config.vocab_size }, (_, id) => after!.next.logits!.get(id)!)
      predicted.push(new Map(logSoftmax(logits).entries()))
    }
    return predicted
  } finally {
    await llama.dispose()
  }
}

/** With the model as a file, which is then removed. */
async function withFile<T>(of: Case, weights: Weights, use: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-over-llama-cpp-'))
  try {
    const path = join(folder, 'model.gguf')
    await writeGguf(path, of, weights)
    return await use(path)
  } finally {
    await rm(folder, { recursive: true })
  }
}
