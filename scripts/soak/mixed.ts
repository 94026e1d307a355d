/**
 * Requests of all kinds to all endpoints, over two models that talk, one of which thinks, one that embeds and one that
 * ranks, all with made-up weights on the CPU: many are left half-way. What each answer says of its tokens is what the
 * ledger has of it, to the token, the sums are those of the usage endpoint, and memory stays where it was.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { tinyRepository, writeRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { createV1, memoryResponses, type UsageEvent, type V1 } from '../../src/index.js'
import { messages } from '../../src/service/endpoints/messages/index.js'
import { ollama } from '../../src/service/endpoints/ollama/index.js'
import { ENDPOINTS } from '../../src/service/endpoints.js'
import { MARKS, minilm } from '../../test/oracles/encoders/bert.js'
import { bertScores } from '../../test/oracles/encoders/cross.js'
import { wordsTokenizer, writeEncoder } from '../../test/oracles/files/repository.js'

const TALKS = 'test/talks'
const THINKS = 'test/thinks'
const EMBEDS = 'test/embeds'
const RANKS = 'test/ranks'
const KEYS = ['sk-one', 'sk-two', 'sk-three']
const ABREAST = 8
/** After which everything has been needed once. */
const WARM = 0.2
const MOST_MEBIBYTES = 16

const THINKING = `{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}{{ '<|im_start|>assistant\\n' }}{%- if enable_thinking is not defined or enable_thinking %}{{ '<think>\\n' }}{%- else %}{{ '<think>\\n\\n</think>\\n\\n' }}{%- endif %}`

const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 8 },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
  },
  required: ['name', 'tags'],
  additionalProperties: false,
}
const TOOL = { name: 'f', strict: true, parameters: PERSON }

interface Tokens {
  readonly prompt: number
  readonly completion: number
}

/** One kind of request. */
interface Kind {
  readonly endpoint: string
  ask(random: (below: number) => number): { path: string; body?: object; method?: string; key?: string }
  /** Refusals that are right of it. */
  readonly refused?: readonly string[]
  /** What an answer says of its tokens, or the last event of a stream that says it; undefined: nothing. */
  tokens?(json: Record<string, never>): Tokens | undefined
}

type Counts = Readonly<Record<string, number>> | undefined
const counts = (prompt: string, completion: string) => (json: { usage?: Counts; response?: { usage?: Counts } }) => {
  const usage = json.response?.usage ?? json.usage
  const [read, written] = [usage?.[prompt], usage?.[completion] ?? 0]
  return read === undefined || (usage?.[completion] === undefined && completion !== 'none')
    ? undefined
    : { prompt: read, completion: written }
}
/** Anthropic counts apart what was in the cache. */
const anthropic = (json: { usage?: Counts }) => {
  const usage = counts('input_tokens', 'output_tokens')(json)
  return usage && { ...usage, prompt: usage.prompt + (json.usage?.cache_read_input_tokens ?? 0) }
}
const openAi = counts('prompt_tokens', 'completion_tokens')
const newer = counts('input_tokens', 'output_tokens')
const readOnly = counts('prompt_tokens', 'none')

const ollamas = (json: Counts) =>
  json?.prompt_eval_count === undefined
    ? undefined
    : { prompt: json.prompt_eval_count, completion: json.eval_count ?? 0 }

const words = (random: (below: number) => number, most = 30) =>
  Array.from({ length: 1 + random(most) }, () => ['quick', 'brown', 'fox', 'the', 'Paris'][random(5)]).join(' ')
const model = (random: (below: number) => number) => (random(2) ? TALKS : THINKS)
/** Kept responses and whose they are, the latest last. */
const kept: { readonly id: string; readonly key: string }[] = []
/** Asks for one of them, by its caller's key. */
function ofKept(random: (below: number) => number, rest = '', method = 'GET') {
  const { id, key } = kept[random(kept.length)] ?? { id: 'resp_0', key: KEYS[0]! }
  return { path: `/responses/${id}${rest}`, key, method }
}
/** Conversations and whose they are, the latest last; of each the first item has the same id. */
const conversations: { readonly id: string; readonly key: string }[] = []
function ofConversation(random: (below: number) => number, rest = '', method = 'GET') {
  const { id, key } = conversations[random(conversations.length)] ?? { id: 'conv_0', key: KEYS[0]! }
  return { path: `/conversations/${id}${rest}`, key, method }
}
const userItems = (random: (below: number) => number) => [{ id: 'msg_0', role: 'user', content: words(random) }]

const QUESTIONS = {
  so: { type: 'noul', instructions: 'Is it so?' },
  which: { type: 'choice', instructions: 'Which?', criteria: { fox: 'quick', dog: null } },
}
const decides = (endpoint: string): Kind => ({
  endpoint,
  tokens: newer,
  ask: (random) => ({ path: endpoint, body: { model: model(random), state: words(random), questions: QUESTIONS } }),
})
const extracts = (endpoint: string): Kind => ({
  endpoint,
  tokens: newer,
  ask: (random) => ({
    path: endpoint,
    body: { model: TALKS, state: words(random, 8), fields: { who: { type: 'text' }, when: { type: 'date' } } },
  }),
})
const bare = (endpoint: string, method = 'GET'): Kind => ({ endpoint, ask: () => ({ path: endpoint, method }) })

/** Ollama's: its models go by their names, with a tag. */
const OLLAMAS: readonly Kind[] = [
  ...['', '/api/version', '/api/tags', '/api/ps'].map((path) => bare(path)),
  {
    endpoint: '/api/show',
    ask: (random) => ({ path: '/api/show', body: { model: `${model(random)}:latest` } }),
  },
  {
    endpoint: '/api/chat',
    tokens: ollamas,
    ask(random) {
      const more = [
        {},
        { format: PERSON },
        { tools: [{ type: 'function', function: { name: 'f', parameters: PERSON } }] },
        { think: random(2) > 0 },
        { options: { num_predict: 8, temperature: 0 }, logprobs: true, top_logprobs: 2 },
      ][random(5)]!
      const base = { model: model(random), stream: random(2) > 0, options: { num_predict: 50 } }
      return { path: '/api/chat', body: { ...base, messages: [{ role: 'user', content: words(random) }], ...more } }
    },
  },
  {
    endpoint: '/api/generate',
    tokens: ollamas,
    ask: (random) => ({
      path: '/api/generate',
      body: {
        model: TALKS,
        prompt: words(random),
        raw: random(2) > 0,
        stream: random(2) > 0,
        options: { num_predict: 9 },
      },
    }),
  },
  {
    endpoint: '/api/embed',
    tokens: ollamas,
    ask: (random) => ({ path: '/api/embed', body: { model: EMBEDS, input: ['w300 w301', `w${302 + random(50)}`] } }),
  },
  {
    endpoint: '/api/embeddings',
    ask: (random) => ({ path: '/api/embeddings', body: { model: EMBEDS, prompt: `w${302 + random(50)}` } }),
  },
  {
    endpoint: '/api/pull',
    ask: (random) => ({ path: '/api/pull', body: { model: model(random), stream: random(2) > 0 } }),
  },
  {
    endpoint: '/api/delete',
    refused: ['403'],
    ask: (random) => ({ path: '/api/delete', method: 'DELETE', body: { model: model(random) } }),
  },
  ...['/api/create', '/api/copy', '/api/push'].map(
    (endpoint): Kind => ({
      endpoint,
      refused: ['404'],
      ask: (random) => ({ path: endpoint, body: { model: model(random) } }),
    }),
  ),
]

const KINDS: readonly Kind[] = [
  {
    endpoint: '/chat/completions',
    tokens: openAi,
    ask(random) {
      const stream = random(2) > 0
      const extra = [
        {},
        { n: 3, temperature: 0.7 },
        { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: PERSON } } },
        { tools: [{ type: 'function', function: TOOL }], tool_choice: 'required' },
        { logprobs: true, top_logprobs: 2, stop: ['the'] },
        { reasoning_effort: 'low' },
      ][random(6)]!
      const name = 'reasoning_effort' in extra ? THINKS : model(random)
      const base = { model: name, max_tokens: 40 + random(20), messages: [{ role: 'user', content: words(random) }] }
      return {
        path: '/chat/completions',
        body: { ...base, ...extra, stream, ...(stream && { stream_options: { include_usage: true } }) },
      }
    },
  },
  {
    endpoint: '/completions',
    tokens: openAi,
    ask: (random) => ({
      path: '/completions',
      body: { model: model(random), prompt: [words(random), words(random)], n: 1 + random(2), max_tokens: 12 },
    }),
  },
  {
    endpoint: '/infill',
    // Nobody has taught them.
    refused: ['400'],
    ask: (random) => ({
      path: '/infill',
      body: { model: model(random), input_prefix: words(random), input_suffix: words(random), n_predict: 12 },
    }),
  },
  {
    endpoint: '/responses',
    tokens: newer,
    ask(random) {
      const earlier = random(3) === 0 ? kept.at(-1) : undefined
      const base = { model: model(random), input: words(random, 8), max_output_tokens: 16, stream: random(2) > 0 }
      return {
        path: '/responses',
        ...(earlier && { key: earlier.key }),
        body: { ...base, ...(earlier && { previous_response_id: earlier.id, truncation: 'auto' }) },
      }
    },
  },
  {
    endpoint: '/responses',
    ask: (random) => ({
      path: '/responses',
      body: { model: TALKS, input: words(random), background: true, max_output_tokens: 8 },
    }),
  },
  {
    endpoint: '/responses',
    tokens: newer,
    ask(random) {
      const { id, key } = conversations.at(-1) ?? { id: 'conv_0', key: KEYS[0]! }
      const body = {
        model: TALKS,
        input: words(random, 8),
        conversation: id,
        truncation: 'auto',
        max_output_tokens: 16,
      }
      return { path: '/responses', key, body }
    },
  },
  {
    endpoint: '/conversations',
    ask: (random) => ({ path: '/conversations', body: random(2) ? {} : { items: userItems(random) } }),
  },
  {
    endpoint: '/conversations/{id}',
    ask: (random) => ofConversation(random, '', random(3) ? 'GET' : 'DELETE'),
  },
  {
    endpoint: '/conversations/{id}/items',
    ask: (random) =>
      random(2)
        ? ofConversation(random, '/items')
        : { ...ofConversation(random, '/items', 'POST'), body: { items: userItems(random) } },
  },
  {
    endpoint: '/conversations/{id}/items/{item}',
    ask: (random) => ofConversation(random, '/items/msg_0', random(3) ? 'GET' : 'DELETE'),
  },
  {
    endpoint: '/responses/compact',
    tokens: newer,
    ask: (random) => ({ path: '/responses/compact', body: { model: TALKS, input: words(random) } }),
  },
  {
    endpoint: '/responses/input_tokens',
    ask: (random) => ({ path: '/responses/input_tokens', body: { model: model(random), input: words(random) } }),
  },
  {
    endpoint: '/responses/{id}',
    ask: (random) => ofKept(random, '', random(3) ? 'GET' : 'DELETE'),
  },
  {
    endpoint: '/responses/{id}/cancel',
    ask: (random) => ofKept(random, '/cancel', 'POST'),
  },
  { endpoint: '/responses/{id}/input_items', ask: (random) => ofKept(random, '/input_items') },
  {
    endpoint: '/embeddings',
    tokens: readOnly,
    ask: (random) => ({ path: '/embeddings', body: { model: EMBEDS, input: ['w300 w301', `w${302 + random(50)}`] } }),
  },
  ...['/rerank', '/v2/rerank'].map((path) => ({
    endpoint: path,
    ask: (random: (below: number) => number) => ({
      path,
      body: { model: RANKS, query: 'w300', documents: ['w301 w302', `w${303 + random(50)}`] },
    }),
  })),
  {
    endpoint: '/score',
    ask: (random) => ({
      path: '/score',
      body: { model: RANKS, queries: ['w300', 'w301'], documents: ['w301 w302', `w${303 + random(50)}`] },
    }),
  },
  {
    endpoint: '/classify',
    ask: (random) => ({ path: '/classify', body: { model: RANKS, input: ['w300 w301', `w${302 + random(50)}`] } }),
  },
  {
    endpoint: '/pooling',
    ask: (random) => ({ path: '/pooling', body: { model: EMBEDS, input: `w${302 + random(50)}` } }),
  },
  {
    endpoint: '/tokenize',
    ask: (random) => ({ path: '/tokenize', body: { model: model(random), prompt: words(random) } }),
  },
  {
    endpoint: '/detokenize',
    ask: (random) => ({ path: '/detokenize', body: { model: model(random), tokens: [1 + random(90), 2, 3] } }),
  },
  {
    endpoint: '/messages',
    tokens: anthropic,
    ask: (random) => ({
      path: '/messages',
      body: { model: model(random), max_tokens: 12, messages: [{ role: 'user', content: words(random) }] },
    }),
  },
  {
    endpoint: '/messages/count_tokens',
    ask: (random) => ({
      path: '/messages/count_tokens',
      body: { model: model(random), messages: [{ role: 'user', content: words(random) }] },
    }),
  },
  {
    endpoint: '/decisions',
    tokens: newer,
    ask(random) {
      const questions = [
        { type: 'predicate', instructions: 'It is so.' },
        { type: 'score', instructions: 'How much?', levels: [{ label: 'low' }, { label: 'high' }] },
      ]
      return { path: '/decisions', body: { model: model(random), input: words(random), questions } }
    },
  },
  ...['/systemone', '/api/alpha/decisions'].map(decides),
  ...['/extractions', '/extraction', '/api/alpha/extractions'].map(extracts),
  {
    endpoint: '/tokenizer_info',
    ask: (random) => ({ path: `/tokenizer_info?model=${model(random)}` }),
  },
  ...OLLAMAS,
  { endpoint: '/models', ask: () => ({ path: '/models' }) },
  { endpoint: '/models/{model}', ask: () => ({ path: `/models/${TALKS}` }) },
  {
    endpoint: '/organization/usage/completions',
    ask: () => ({ path: '/organization/usage/completions?start_time=0' }),
  },
  ...['/health', '/ping', '/version', '/load'].map((path) => ({ endpoint: path, ask: () => ({ path }) })),
]

export async function mixed(count: number, seed: number, collectGarbage: () => void): Promise<string[]> {
  const problems: string[] = []
  const named = new Set(KINDS.map(({ endpoint }) => endpoint))
  const all = [...ENDPOINTS, ...messages().endpoints, ...ollama().endpoints] as typeof ENDPOINTS
  for (const { path, admin, option } of all) {
    if (!admin && !option && !named.has(path)) problems.push(`nothing is asked of ${path}`)
  }
  const folder = await mkdtemp(join(tmpdir(), 'soak-'))
  const events = new Map<string, UsageEvent[]>()
  const record = (event: UsageEvent) =>
    void events.set(event.requestId, [...(events.get(event.requestId) ?? []), event])
  const v1 = await serviceIn(folder, record)
  const soak = new Soak(v1, seed, problems)
  try {
    for (const each of [TALKS, THINKS, EMBEDS, RANKS]) await v1.load(each)
    let before = 0
    for (let done = 0; done < count; done += Math.ceil(count * WARM)) {
      await soak.run(Math.min(Math.ceil(count * WARM), count - done))
      const now = await soak.memory(collectGarbage)
      if (before === 0) before = now
      console.log(`${soak.requests} requests, ${now.toFixed(1)} MiB of objects and buffers`)
      if (now - before > MOST_MEBIBYTES) problems.push(`memory grew by ${(now - before).toFixed(0)} MiB`)
    }
    await soak.compare(events)
    console.log(soak.outcomes)
  } finally {
    await v1.close()
    await rm(folder, { recursive: true, force: true })
  }
  return problems
}

async function serviceIn(folder: string, onUsage: (event: UsageEvent) => void): Promise<V1> {
  const in_ = (name: string) => join(folder, name)
  await writeRepository(tinyRepository(1), in_('talks'))
  const thinking = tinyRepository(2)
  const config = JSON.parse(new TextDecoder().decode(thinking.files.get('tokenizer_config.json'))) as object
  const files = new Map(thinking.files).set(
    'tokenizer_config.json',
    new TextEncoder().encode(JSON.stringify({ ...config, chat_template: THINKING })),
  )
  await writeRepository({ ...thinking, files }, in_('thinks'))
  await writeEncoder(minilm, in_('embeds'), wordsTokenizer(minilm, MARKS))
  await writeEncoder(bertScores, in_('ranks'), wordsTokenizer(bertScores, MARKS))
  const models = [TALKS, THINKS, EMBEDS, RANKS].map((id) => ({ id, from: in_(id.slice('test/'.length)) }))
  return createV1({
    engine: webgpu({ models, device: 'cpu', threads: 1, log: () => {} }),
    keys: KEYS,
    responses: memoryResponses({ maxResponses: 50 }),
    endpoints: [messages(), ollama()],
    onUsage,
    log: (entry) => void (entry.type === 'fault' && console.error(entry)),
  })
}

class Soak {
  requests = 0
  readonly outcomes: Record<string, number> = {}
  readonly #v1: V1
  readonly #problems: string[]
  /** By request: what its answer said. */
  readonly #usage = new Map<string, Tokens>()
  #state: number

  constructor(v1: V1, seed: number, problems: string[]) {
    this.#v1 = v1
    this.#state = seed
    this.#problems = problems
  }

  readonly #random = (below: number): number => {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * below)
  }

  async run(count: number): Promise<void> {
    let left = count
    const worker = async () => {
      while (left-- > 0) await this.#one(KINDS[this.requests++ % KINDS.length]!)
    }
    await Promise.all(Array.from({ length: ABREAST }, worker))
  }

  async #one(kind: Kind): Promise<void> {
    const own = KEYS[this.#random(KEYS.length)]!
    const { path, body, method = body ? 'POST' : 'GET', key = own } = kind.ask(this.#random)
    const leaving = new AbortController()
    const timer = this.#random(6) === 0 ? setTimeout(() => leaving.abort(), this.#random(60)) : undefined
    const outcome = await this.#send(kind, path, key, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: leaving.signal,
    }).catch((error: unknown) => {
      if (leaving.signal.aborted) return 'left'
      throw error
    })
    clearTimeout(timer)
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1
    // Of kept responses and conversations some were deleted, and some are not made in the background.
    const gone = /^\/(responses|conversations)/.test(path) ? ['400', '404'] : []
    const fine = ['200', 'left', '499', ...gone, ...(kind.refused ?? [])]
    if (!fine.includes(outcome)) this.#problems.push(`${method} ${path}: ${outcome}`)
  }

  async #send({ tokens }: Kind, path: string, key: string, init: RequestInit): Promise<string> {
    const response = await this.#v1.fetch(new Request(`http://device/v1${path}`, init))
    const text = await response.text()
    if (init.signal?.aborted) return 'left'
    if (response.status !== 200) return `${response.status}`
    const lines = response.headers.get('content-type') === 'application/x-ndjson'
    const documents = lines
      ? text.trim().split('\n')
      : text.startsWith('{')
        ? [text]
        : [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => json!)
    for (const json of documents.map((each) => JSON.parse(each))) {
      const usage = tokens?.(json)
      if (usage) this.#usage.set(response.headers.get('x-request-id')!, usage)
      const id: unknown = json.response?.id ?? json.id
      if (typeof id === 'string' && id.startsWith('resp_') && kept.at(-1)?.id !== id) kept.push({ id, key })
      if (json.object === 'conversation' && conversations.at(-1)?.id !== id) conversations.push({ id: json.id, key })
    }
    for (const list of [kept, conversations]) list.splice(0, list.length - 20)
    return '200'
  }

  async memory(collectGarbage: () => void): Promise<number> {
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      collectGarbage()
    }
    const { heapUsed, external } = process.memoryUsage()
    return (heapUsed + external) / 2 ** 20
  }

  /** What answers said with what was counted, and both with what the usage endpoint says. */
  async compare(events: ReadonlyMap<string, readonly UsageEvent[]>): Promise<void> {
    for (const [id, usage] of this.#usage) {
      const [event, ...more] = events.get(id) ?? []
      const same = event?.promptTokens === usage.prompt && event.completionTokens === usage.completion
      if (!same || more.length > 0)
        this.#problems.push(`${id} said ${JSON.stringify(usage)}: ${JSON.stringify(events.get(id))}`)
    }
    let [read, written, requests] = [0, 0, 0]
    for (const key of KEYS) {
      const headers = { authorization: `Bearer ${key}` }
      const start = Math.floor(Date.now() / 1000) - 86_400
      const url = `http://device/v1/organization/usage/completions?start_time=${start}&bucket_width=1d`
      const { data } = (await (await this.#v1.fetch(new Request(url, { headers }))).json()) as {
        data: { results: { input_tokens: number; output_tokens: number; num_model_requests: number }[] }[]
      }
      for (const result of data.flatMap(({ results }) => results)) {
        read += result.input_tokens
        written += result.output_tokens
        requests += result.num_model_requests
      }
    }
    const all = [...events.values()].flat()
    const sums = [sum(all, 'promptTokens'), sum(all, 'completionTokens'), all.length]
    console.log(
      `usage: ${read} tokens read and ${written} written in ${requests} requests; ${this.#usage.size} answers said theirs`,
    )
    if (`${sums}` !== `${[read, written, requests]}`)
      this.#problems.push(`the ledger has ${sums}, usage says ${[read, written, requests]}`)
  }
}

const sum = (events: readonly UsageEvent[], of: 'promptTokens' | 'completionTokens') =>
  events.reduce((total, event) => total + event[of], 0)
