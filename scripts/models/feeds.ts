/** The ways in which a sequence may be fed; each gives, of every wanted step, the likeliest tokens. */
import type { Sequence, StepInput } from '../../src/contract/token-model.js'
import { GREEDY } from '../../src/models/architectures/cases.test-helper.js'
import type { Core } from '../../src/models/core.js'

/** The log probability of a token. */
export type Told = (token: number) => number

/** A prompt, and `count` tokens after it, the last of which is never fed. */
export interface Text {
  readonly tokens: readonly number[]
  readonly count: number
}

interface Run {
  readonly sequence: Sequence
  readonly text: Text
  /** Tokens of the prompt in one step. */
  readonly chunk: number
  /** Tokens after it. @default each in one of its own */
  readonly after?: After
}

/** So many of the first and of the last are fed one at a time, and those between, as drafts are, `several` in a step. */
export interface After {
  readonly first: number
  readonly last: number
  readonly several: number
}

/** What each is told, alone or in company; those that have read a part go on from there. */
async function feed(core: Core, runs: readonly Run[], ends = true): Promise<Told[][]> {
  const seen = runs.map((): Told[] => [])
  for (;;) {
    const batch = runs.flatMap((run, i) => {
      const next = nextOf(run)
      return next ? [{ i, next }] : []
    })
    if (batch.length === 0) break
    const results = await core.step(batch.map(({ next }) => next))
    for (const [k, { i, next }] of batch.entries()) {
      if (!next.sample) continue
      const { drafts = [], top } = results[k]!
      if (drafts.length !== (next.drafts?.length ?? 0)) throw new Error('Drafts were left out.')
      seen[i]!.push(...drafts.map((draft) => shares(draft.top!)), shares(top!))
    }
  }
  if (ends) for (const { sequence } of runs) sequence.close()
  return seen
}

function nextOf({ sequence, text: { tokens, count }, chunk, after }: Run): StepInput | undefined {
  const [at, prompt] = [sequence.length, tokens.length - count]
  if (at >= tokens.length - 1) return undefined
  if (at < prompt) {
    const fed = tokens.slice(at, Math.min(prompt, at + chunk))
    return { sequence, tokens: fed, ...(at + fed.length >= prompt && { sample: GREEDY }) }
  }
  const size = after ? sizeOf(after, at - prompt, tokens.length - 1 - at) : 1
  const drafts = Array.from({ length: size - 1 }, () => GREEDY)
  return { sequence, tokens: tokens.slice(at, at + size), sample: GREEDY, ...(size > 1 && { drafts }) }
}

const sizeOf = ({ first, last, several }: After, done: number, left: number): number =>
  done < first ? 1 : Math.max(1, Math.min(several, left - last))

/** Beside a sequence that is a token ahead of it and one that is as long as a window less. */
export async function inCompany(core: Core, { tokens, count }: Text): Promise<Told[]> {
  const prompt = tokens.length - count
  const sequences = [core.open(tokens.length), core.open(tokens.length), core.open(5 + Math.ceil(count / 2))]
  const [ours, ahead, short] = sequences as [Sequence, Sequence, Sequence]
  const texts = [tokens, [...tokens.slice(1), tokens[0]!], [...tokens].reverse()]
  await core.step([
    { sequence: ahead, tokens: texts[1]!.slice(0, prompt) },
    { sequence: short, tokens: texts[2]!.slice(0, 5) },
  ])
  const seen: Told[] = []
  let fed = tokens.slice(0, prompt)
  for (let i = 0; i < count; i++) {
    const first = { sequence: ahead, tokens: [texts[1]![prompt + i]!], sample: GREEDY }
    const second = { sequence: short, tokens: [texts[2]![5 + i]!], sample: GREEDY }
    // Where it stands among the others does not matter either.
    const own = { sequence: ours, tokens: fed, sample: GREEDY }
    const results = await core.step(i % 2 === 0 ? [first, own, second] : [own, first])
    seen.push(shares(results[i % 2 === 0 ? 1 : 0]!.top!))
    fed = [tokens[prompt + i]!]
  }
  for (const sequence of sequences) sequence.close()
  return seen
}

function shares(top: readonly { readonly token: number; readonly logprob: number }[]): Told {
  const known = new Map(top.map(({ token, logprob }) => [token, logprob]))
  const least = Math.min(...known.values())
  return (token) => known.get(token) ?? least
}

/** Somewhere within the prompt, at no multiple of anything. */
const partOf = ({ tokens, count }: Text) => Math.floor((tokens.length - count) * 0.6) | 1

/** A copy of one that has read a part of a text, and that one itself, cut after it has read something else. */
async function resumed(core: Core, text: Text): Promise<[copy: Sequence, cut: Sequence]> {
  const part = partOf(text)
  const first = core.open(text.tokens.length)
  await core.step([{ sequence: first, tokens: text.tokens.slice(0, part) }])
  const copy = first.clone()
  await core.step([{ sequence: first, tokens: text.tokens.slice(0, 9).reverse(), sample: GREEDY }])
  first.truncate(part)
  return [copy, first]
}

/** One after the other. */
export async function eachWay(core: Core, text: Text, chunks: readonly number[]): Promise<Record<string, Told[]>> {
  const alone = async (sequence: Sequence, chunk: number) => (await feed(core, [{ sequence, text, chunk }]))[0]!
  const ways: Record<string, Told[]> = {}
  for (const chunk of chunks) ways[`by ${chunk}`] = await alone(core.open(text.tokens.length), chunk)
  ways['in company'] = await inCompany(core, text)
  const drafted = {
    sequence: core.open(text.tokens.length),
    text,
    chunk: core.maxChunk,
    after: { first: 1, last: 1, several: 13 },
  }
  ways['several at once'] = (await feed(core, [drafted]))[0]!
  const [copy, cut] = await resumed(core, text)
  ways['from a copy'] = await alone(copy, 24)
  ways['from a cut'] = await alone(cut, 24)
  return ways
}

/** Tokens after the prompt in ways that begin with parts of it: how it was read is what they are about. */
const FEW = 12

/**
 * Alone and in one, then a few tokens in all other ways at once beside a short text: a GPU in software takes its time. What
 * is gone on from is the first, cut twice: what it has read meanwhile must not be seen in its copy.
 */
export async function waysAtOnce(core: Core, text: Text, after: After): Promise<Record<string, Told[]>> {
  const { tokens } = text
  const first = core.open(tokens.length)
  const count = Math.min(FEW, text.count)
  const begin = { tokens: tokens.slice(0, tokens.length - text.count + count), count }
  const [whole] = await feed(core, [{ sequence: first, text, chunk: core.maxChunk, after }], false)
  const part = partOf(text)
  first.truncate(part)
  if (first.length < part) await core.step([{ sequence: first, tokens: tokens.slice(first.length, part) }])
  const copy = first.clone()
  await core.step([{ sequence: first, tokens: tokens.slice(0, 9).reverse(), sample: GREEDY }])
  first.truncate(part)
  const chunk = 24
  const other = { tokens: tokens.slice(0, 12).reverse(), count: Math.min(count, 8) }
  const [fromCopy, byChunks, , fromCut] = await feed(core, [
    { sequence: copy, text: begin, chunk },
    { sequence: core.open(tokens.length), text: begin, chunk },
    { sequence: core.open(), text: other, chunk: 7 },
    { sequence: first, text: begin, chunk },
  ])
  return { whole: whole!, 'from a copy': fromCopy!, [`by ${chunk}`]: byChunks!, 'from a cut': fromCut! }
}
