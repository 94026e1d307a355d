import type { ChatBody } from './api.js'
import { Generation } from './generation.js'

/** What one device does with one model, by `/v1` as any client sees it. */
export interface DeviceResult {
  readonly model: string
  readonly device: string
  readonly date: string
  /** Milliseconds from a short request to its first token. */
  readonly firstMs: number
  /** Tokens of a prompt read in a second, of a written one, and of strict JSON. */
  readonly reading: number
  readonly writing: number
  readonly json: number
  /** Of the JSON's tokens, how many the grammar decided. */
  readonly forced: number
}

export type Measure = keyof Pick<DeviceResult, 'reading' | 'writing' | 'json'>
export const MEASURES: readonly (readonly [Measure, string])[] = [
  ['reading', 'Reads a prompt'],
  ['writing', 'Writes text'],
  ['json', 'Writes strict JSON'],
]

export const ROUNDS = 3
const WRITTEN = 64

const schema = {
  type: 'object',
  properties: {
    title: { type: 'string', maxLength: 40 },
    language: { enum: ['English', 'German', 'Portuguese'] },
    pages: { type: 'integer', minimum: 1, maximum: 999 },
    available: { type: 'boolean' },
    authors: { type: 'array', items: { type: 'string', maxLength: 20 }, minItems: 1, maxItems: 2 },
  },
  required: ['title', 'language', 'pages', 'available', 'authors'],
  additionalProperties: false,
}

/** Each measure in turns over several rounds, after one that counts for nothing; the medians. */
export async function measure(
  model: string,
  device: string,
  signal: AbortSignal,
  onStep: (done: number, of: number) => void,
): Promise<DeviceResult> {
  const seen = { first: [] as number[], reading: [] as number[], writing: [] as number[], json: [] as number[] }
  let forced = 0
  const steps = 3 * (ROUNDS + 1)
  let done = 0
  for (let round = 0; round <= ROUNDS; round++) {
    const short = await run(model, prompt('Write a story.', round), { max_tokens: WRITTEN }, signal)
    onStep(++done, steps)
    const long = await run(model, prompt(LONG, round), { max_tokens: 1 }, signal)
    onStep(++done, steps)
    const json = await run(model, prompt('A book.', round), { max_tokens: 160, ...asJson }, signal)
    onStep(++done, steps)
    // The first round compiles, fills caches and wakes the device.
    if (round === 0) continue
    seen.first.push(short.firstMs ?? 0)
    seen.writing.push(perSecond(short))
    seen.reading.push(((long.usage?.prompt_tokens ?? 0) * 1000) / (long.firstMs ?? 1))
    seen.json.push((json.tokens * 1000) / json.lastMs)
    forced = json.forced / Math.max(1, json.tokens)
  }
  return {
    model,
    device,
    date: new Date().toISOString().slice(0, 10),
    firstMs: median(seen.first),
    reading: median(seen.reading),
    writing: median(seen.writing),
    json: median(seen.json),
    forced,
  }
}

const asJson = {
  response_format: { type: 'json_schema', json_schema: { name: 'book', strict: true, schema } },
} as const

/** Another beginning each time, so that no cache has read it before. */
const prompt = (text: string, round: number) => `${round}${Math.random().toString(36).slice(2, 8)} ${text}`
const LONG = 'The boat left the harbour at dawn, and nobody on the quay looked up. '.repeat(24)

async function run(model: string, content: string, rest: Partial<ChatBody>, signal: AbortSignal): Promise<Generation> {
  signal.throwIfAborted()
  const generation = new Generation()
  const stop = () => generation.stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const body: ChatBody = { model, messages: [{ role: 'user', content }], temperature: 1, seed: 7, ...rest }
    await generation.run(body, 'playground/bench', () => {})
  } finally {
    signal.removeEventListener('abort', stop)
  }
  signal.throwIfAborted()
  return generation
}

/** Short answers of a small model have come before a stretch can be measured: then the whole of it counts. */
const perSecond = (answer: Generation): number => answer.perSecond ?? (answer.tokens * 1000) / answer.lastMs

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

/** Whether it is a result; whoever made a link may have written anything. */
export function asResult(value: unknown): DeviceResult | undefined {
  const given = (value ?? {}) as Record<string, unknown>
  const texts = ['model', 'device', 'date'].every((key) => typeof given[key] === 'string' && given[key].length < 200)
  const numbers = ['firstMs', 'reading', 'writing', 'json', 'forced'].every((key) => Number.isFinite(given[key]))
  return texts && numbers ? (given as unknown as DeviceResult) : undefined
}
