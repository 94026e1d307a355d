/** Decisions of our core, side by side over one state, held to each option alone: in float64 and by llama.cpp. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Device } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { readQuestions } from '../../src/generate/decide/reading.js'
import { logSum, OptionTrie, sharesOf } from '../../src/generate/decide/trie.js'
import { Scheduler } from '../../src/generate/run/scheduler.js'
import { loadPlanned } from '../../src/models/load.js'
import type { Case, Reference, Weights } from '../../test/oracles/family.js'
import { FIRST_WORD } from '../../test/oracles/files/gguf.js'
import { logSoftmax, type Vector } from '../../test/oracles/float64.js'
import { promptOf } from '../../test/oracles/judge.js'
import { Random } from '../../test/oracles/random.js'
import { llamaCppOfEach } from './llama-cpp.js'
import { EXACT, FORMS, type Form, GPUS, planned, type Where, written } from './our-core.js'
import type { Rows } from './rows.js'

export const DECISIONS = 'decisions'
/** What every probability may be off by. */
export const BOUND = 1e-4
/** And from llama.cpp where it approximates. */
const ROUGH = 1e-2
/** In the precision of the definition. */
const FORM: Form = FORMS[0]
/** Closes an option that is the beginning of another. */
const END = 2

interface Options {
  readonly rows: Rows
  readonly devices: readonly Where[]
  readonly peers?: string
}

interface Question {
  readonly stem: readonly number[]
  readonly options: readonly (readonly number[])[]
  readonly ends: readonly number[]
}

export async function checkDecisions(of: Case, weights: Weights, { rows, devices, peers }: Options): Promise<void> {
  let known: Promise<Truth> | undefined
  const truth = () => {
    known ??= truthOf(of, weights, peers)
    return known
  }
  const row = (device: string, code: 'decisions on cpu' | 'decisions on gpu', open: () => Promise<Device>) =>
    rows.once({ family: of.name, kind: 'decisions', what: DECISIONS, device }, code, async () => {
      const { questions } = await truth()
      return verdictOf(of, await decided(await open(), of, weights, questions), await truth())
    })
  if (devices.includes('cpu')) await row(EXACT, 'decisions on cpu', () => openCpuDevice({ threads: 1, exact: true }))
  for (const { name, cut, open } of GPUS) if (devices.includes(cut)) await row(name, 'decisions on gpu', open)
}

interface Truth {
  readonly questions: readonly Question[]
  readonly float64: readonly (readonly number[])[]
  readonly theirs: readonly (readonly number[])[] | undefined
}

/** Each option after its stem, and nothing else read. */
async function truthOf(of: Case, weights: Weights, peers: string | undefined): Promise<Truth> {
  const questions = questionsOf(of, weights)
  const texts = questions.flatMap((question) =>
    question.options.map((option) => {
      const { stem, ends } = question
      return { question, stem, option, ends, count: option.length + (ends.length > 0 ? 1 : 0) }
    }),
  )
  const prompts = texts.map(({ stem, option, count }) => ({
    tokens: [...stem, ...option].slice(0, stem.length + count - 1),
    count,
  }))
  const scoresOf = (all: readonly (readonly ((token: number) => number)[])[]) =>
    texts.map(({ option, ends }, i) => {
      const score = option.reduce((sum, token, k) => sum + all[i]![k]!(token), 0)
      return ends.length === 0 ? score : score + logSum(ends.map((end) => all[i]![option.length]!(end)))
    })
  const byQuestion = (scores: readonly number[]) =>
    questions.map((question) => {
      const own = scores.filter((_, i) => texts[i]!.question === question)
      const all = logSum(own)
      return own.map((score) => Math.exp(score - all))
    })
  const float64 = prompts.map(({ tokens, count }) => toldOf(of.reference(weights), tokens).slice(-count))
  const theirs = peers !== undefined && of.gguf ? await llamaCppOfEach(peers, of, weights, prompts) : undefined
  return {
    questions,
    float64: byQuestion(scoresOf(float64.map((all) => all.map((logprobs) => (token) => logprobs[token]!)))),
    theirs: theirs && byQuestion(scoresOf(theirs)),
  }
}

const toldOf = (reference: Reference, tokens: readonly number[]): Vector[] =>
  tokens.map((token) => logSoftmax(reference.step(token)))

/** Options that the model finds likely, so that every one of their probabilities can be wrong. */
function questionsOf(of: Case, weights: Weights): Question[] {
  const random = new Random(`questions of ${of.name}`)
  const state = promptOf(of)
  const words = (count: number) =>
    Array.from({ length: count }, () => FIRST_WORD + random.below(of.config.vocab_size - FIRST_WORD))
  const likely = (scores: Vector, count: number) =>
    [...scores.keys()]
      .slice(FIRST_WORD)
      .sort((a, b) => scores[b]! - scores[a]!)
      .slice(0, count)
  const begun = (length: number) => {
    const stem = [...state, ...words(length)]
    const reference = of.reference(weights)
    const firsts = likely(toldOf(reference, stem).at(-1)!, 3)
    const next = (token: number) => likely(logSoftmax(reference.step(token)), 2)
    return { stem, firsts, next }
  }
  const single = begun(5)
  const several = begun(9)
  const [a, b, c] = several.firsts as [number, number, number]
  const [d, e] = several.next(a) as [number, number]
  const [f, g] = several.next(d) as [number, number]
  // Apart from the stem that they were looked for behind, tokens of two options may be the same.
  const deep = [[a, d, f], [a, d, g], [a, e], [b], [c, a]]
  return [
    { stem: single.stem, options: single.firsts.map((token) => [token]), ends: [] },
    { stem: several.stem, options: deep, ends: [] },
    // The second is the beginning of the first.
    { stem: several.stem, options: [[a, d], [a], [b]], ends: [END] },
    { stem: [...state, ...words(40)], options: [words(6), words(6)].map((option) => [a, ...option]), ends: [] },
  ]
}

/** All of them at once, as a request has them, over one reading of the state. */
async function decided(
  device: Device,
  of: Case,
  weights: Weights,
  questions: readonly Question[],
): Promise<number[][]> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-decisions-'))
  try {
    const source = await written(of, FORM, weights, folder)
    const core = await loadPlanned(device, source, planned(device, of, FORM, source, of.prompt + 64))
    const scheduler = new Scheduler(core, 1)
    const queries = questions.map(({ stem, options, ends }) => ({ stem, trie: new OptionTrie(options, ends) }))
    await readQuestions(
      promptOf(of),
      queries,
      { model: core, scheduler },
      {
        signal: new AbortController().signal,
      },
    )
    scheduler.stop(new Error('over'))
    await scheduler.stopped()
    await core.close()
    return queries.map(({ trie }) => sharesOf(trie).probabilities)
  } finally {
    if (device.info.kind === 'cpu') device.destroy()
    await rm(folder, { recursive: true })
  }
}

function verdictOf(of: Case, ours: readonly (readonly number[])[], { float64, theirs }: Truth) {
  const off = ours.flatMap((shares, i) => shares.map((share, k) => Math.abs(share - float64[i]![k]!)))
  const offPeer = theirs && ours.flatMap((shares, i) => shares.map((share, k) => Math.abs(share - theirs[i]![k]!)))
  const worst = Math.max(...off)
  const worstOfPeer = offPeer && Math.max(...offPeer)
  const likeliest = (shares: readonly number[]) => shares.indexOf(Math.max(...shares))
  return {
    tokens: off.length,
    otherTokens: ours.filter((shares, i) => likeliest(shares) !== likeliest(float64[i]!)).length,
    rms: Math.sqrt(off.reduce((sum, one) => sum + one ** 2, 0) / off.length),
    worst,
    bound: BOUND,
    ...(worstOfPeer !== undefined && { worstOfPeer }),
    good: worst < BOUND && (worstOfPeer ?? 0) < (of.gguf?.approximate ? ROUGH : BOUND),
  }
}
