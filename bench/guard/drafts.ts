/**
 * What guesses save: passes of an answer with them and without, the rows of these, and which guesses were right, at the
 * first time and once more. As much is guessed as a step has room for: what gains is found out by a clock.
 */
import { EXTRACTIONS } from '../../src/bench/extractions.js'
import { watched, watchOf } from '../../src/bench/watched-model.js'
import type { ChatCall } from '../../src/contract/index.js'
import type { Batch } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { DecodeLoop } from '../../src/generate/decode-loop.js'
import { DraftModel } from '../../src/generate/drafts/draft-model.js'
import type { DraftMode } from '../../src/generate/drafts/mode.js'
import { call, collect, smallText } from '../../src/generate/testing/call.test-helper.js'
import { compile } from '../../src/grammar/structured.js'
import { goodHead } from '../../src/models/draft-head.test-helper.js'
import type { WeightSource } from '../../src/models/files/source.js'
import { loadCore } from '../../src/models/load.js'
import type { JsonObject } from '../../src/platform/index.js'
import type { Counts } from './compare.js'
import { passesOf, watched as watchedDevice } from './watched-device.js'

type Guesses = NonNullable<DecodeLoop['guesses']>

const SIZES = { contextLength: 2048, maxBatch: 8, tokens: smallText.tokenizer.size }
const TOKENS = 48

interface Way {
  readonly weights: WeightSource
  /** Its own, or a head that comes with the weights. */
  readonly small?: WeightSource | 'head'
  /** The answer along which the model is led, as if it answered right. */
  readonly gold?: string
  readonly call: ChatCall
}

const strings = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
  additionalProperties: false,
})
/** Greedily, and told no more than the text. */
const asked = (content: string, schema: JsonObject): ChatCall =>
  call({
    messages: [{ role: 'user', content }],
    sampling: { ...call().sampling, temperature: 0 },
    output: { type: 'json_schema', name: 'answer', strict: true, schema },
    grammar: compile(schema),
  })

const { user, schema, answer } = EXTRACTIONS[0]!
const STRICT = asked(user, schema)
/** They begin as what the text says, and go on otherwise. */
const OTHER = { ...answer, boat: 'Annet', skipper: 'Wim Terlinden', length: 9.6, arrivalTime: '19:30' }
const LABELLED = asked('Name: Ana Ruiz\nCity: Bonn\nPhone: 030-4711', strings('name', 'city', 'phone'))
const LABELS = { name: 'Ana Ruiz', city: 'Bonn', phone: '030-4711' }
const FREE: ChatCall = { ...STRICT, output: { type: 'text' }, grammar: undefined, maxTokens: TOKENS, ignoreEnds: true }
const tiny = (seed = 1) => tinyRepository(seed, SIZES.contextLength).source

const WAYS: Readonly<Record<string, Way>> = {
  'values that stand in the prompt': { weights: tiny(), gold: JSON.stringify(answer), call: STRICT },
  'values that it has otherwise': { weights: tiny(), gold: JSON.stringify(OTHER), call: STRICT },
  'values behind their labels': { weights: tiny(), gold: JSON.stringify(LABELS), call: LABELLED },
  'a draft model that says the same': { weights: tiny(), small: tiny(), call: FREE },
  'a draft model that says something else': { weights: tiny(), small: tiny(2), call: FREE },
  'a draft model, of two answers at once': { weights: tiny(), small: tiny(), call: { ...FREE, n: 2 } },
  'a draft model, of strict JSON': { weights: tiny(), small: tiny(), gold: JSON.stringify(answer), call: STRICT },
  "a model's own head": { weights: goodHead(), small: 'head', call: FREE },
  'a head that is wrong': { weights: goodHead(true), small: 'head', call: FREE },
}

export async function countDrafts(): Promise<Counts> {
  const found: Record<string, Counts> = {}
  for (const [name, way] of Object.entries(WAYS)) {
    const without = await count(way, 'never')
    const guessing = await count(way, 'always')
    if (without.text !== guessing.text) throw new Error(`${name}: guesses changed ${without.text} to ${guessing.text}`)
    found[name] = { without: without.counts, guessing: guessing.counts }
  }
  return found
}

async function count(way: Way, drafts: DraftMode): Promise<{ text: string; counts: Counts }> {
  const guessing = drafts !== 'never'
  const large = await open(way.weights, guessing && way.small === 'head')
  const small = guessing && typeof way.small === 'object' ? await open(way.small) : undefined
  const watch = { ...watchOf(smallText), gold: way.gold }
  const model = way.gold === undefined ? large.core : watched(large.core, watch)
  const loop = new DecodeLoop(model, smallText, { drafts, ...(small && { draftModel: new DraftModel(small.core) }) })
  const counts: Record<string, Counts> = {}
  let text = ''
  for (const turn of ['the first time', 'once more']) {
    // The prompt goes into the cache, so that what is counted is writing alone.
    watch.promptTokens = Number.POSITIVE_INFINITY
    const { usage } = await collect(loop.generate({ ...way.call, grammar: undefined, maxTokens: 1, n: 1 }))
    watch.promptTokens = usage.promptTokens
    for (const each of [large, small]) each?.forget()
    const before = structuredClone(loop.guesses)
    const written = await collect(loop.generate(way.call), way.call.n)
    text += written.texts.join('\n')
    counts[turn] = {
      ...passesOf(large.passes),
      ...(large.head && { 'of them of its head': large.passes.length - large.steps }),
      ...(small && { 'of the draft model': passesOf(small.passes) }),
      'tokens of the answer': written.usage.completionTokens,
      ...(before && { guesses: guessesSince(before, loop.guesses!) }),
    }
  }
  await loop.close()
  for (const each of [large, small]) each?.device.destroy()
  return { text, counts }
}

async function open(weights: WeightSource, head = false) {
  const passes: Batch[] = []
  const device = watchedDevice(await openCpuDevice({ threads: 1, variant: 'simd' }), passes)
  const core = await loadCore(device, weights, { ...SIZES, draftHead: head })
  const { step } = core
  const opened = {
    ...{ device, core, head, passes, steps: 0 },
    forget() {
      passes.length = 0
      opened.steps = 0
    },
  }
  core.step = (batch) => {
    opened.steps++
    return step.call(core, batch)
  }
  return opened
}

/** Of the kinds that there were. */
function guessesSince(before: Guesses, after: Guesses): Counts {
  const found: Record<string, Counts> = {}
  for (const kind of Object.keys(after) as (keyof Guesses)[]) {
    const [right, wrong] = [after[kind].right - before[kind].right, after[kind].wrong - before[kind].wrong]
    if (right + wrong > 0) found[kind] = { right, wrong }
  }
  return found
}
