import type { ChatCall, Engine } from '../src/contract/engine.js'
import { type Script, type Step, scripted } from '../src/engines/scripted.js'
import { createV1, memoryResponses, V1Error } from '../src/index.js'
import { messages } from '../src/service/endpoints/messages/index.js'
import { ollama } from '../src/service/endpoints/ollama/index.js'
import { type Hostile, KEY, MODEL } from './fuzz-requests.js'
import { unlessItHangs, watchForSpins } from './hangs.js'

/** Keeps to the grammar as far as it can guess, and refuses where it cannot: a wrong document would be a 500. */
function obedient(call: ChatCall): Script {
  const { grammar, n, maxTokens } = call
  if (call.promptLogprobs || call.returnTokens) return tokenScript(call)
  if (!grammar) return 'Hi there.'
  if (maxTokens === 0) return [new V1Error(400, 'There is no room for a document.', { param: 'max_tokens' })]
  const document = ['{}', '[]', 'null', 'true', '0', '1', '""', '"Hi"', '{"id":0}'].find((guess) =>
    grammar.accepts(guess),
  )
  return document === undefined ? [new V1Error(400, 'No such document is known.')] : spoken(document, n)
}

/** One that tells its tokens. */
function tokenScript({ n, prompt = '', promptLogprobs, maxTokens, grammar }: ChatCall): Script {
  if (grammar) return [new V1Error(400, 'No such document is known.')]
  const tokens = typeof prompt === 'string' ? [...new TextEncoder().encode(prompt)] : prompt
  const logprobs = tokens.map((token, i) => {
    return { token: `${token}`, bytes: null, logprob: i === 0 ? null : -i, top: [] }
  })
  const first: Step = { type: 'prompt', tokens, text: tokens.join(''), ...(promptLogprobs && { logprobs }) }
  return [first, ...spoken(maxTokens === 0 ? '' : 'Hi', n)]
}

function spoken(text: string, n: number): Step[] {
  return Array.from({ length: n }, (_, choice): Step[] => [
    { type: 'text-delta', choice, text },
    { type: 'finish', choice, reason: 'stop' },
  ]).flat()
}

/** As engines with models of their own are. */
function managed(engine: Engine): Engine {
  return {
    ...engine,
    async load(model, onProgress) {
      onProgress({ model, phase: 'ready', bytesLoaded: 1, bytesTotal: 1, filesLoaded: 1, filesTotal: 1 })
    },
    rank: async ({ documents }) => ({ scores: documents.map(() => 0.5), promptTokens: documents.length }),
    classify: async ({ inputs }) => ({ probabilities: inputs.map(() => [0.5, 0.5]), promptTokens: inputs.length }),
    decide: async ({ questions }) => ({
      answers: questions.map(({ options }) => ({ probabilities: options.map(() => 1 / options.length) })),
      usage: { promptTokens: 1, completionTokens: 0, cachedTokens: 0 },
    }),
    async unload() {},
    async remove() {},
  }
}

const CAPABLE = {
  ...{ embeddings: true, rerank: true, classify: true, decisions: true, evidence: true, quotes: true },
  ...{ sampling: true, tokens: true, infill: true, promptLogprobs: true },
}
const vectorOf = (_: unknown, dimensions = 3) => new Float32Array(dimensions)

export function fuzzTarget(): { try: (each: Hostile) => Promise<string | undefined> } {
  const faults: unknown[] = []
  const spins = watchForSpins()
  const v1 = createV1({
    engine: managed(scripted({ models: { [MODEL]: obedient }, capabilities: CAPABLE, embed: vectorOf })),
    metrics: true,
    responses: memoryResponses({ maxResponses: 100 }),
    endpoints: [messages(), ollama()],
    aliases: { hello: MODEL },
    keys: [{ key: KEY, admin: true }],
    manageModels: true,
    cors: ['https://app.example'],
    bodyLimit: 16_384,
    maxInFlight: 4,
    log: (event) => event.type === 'fault' && faults.push(event.message),
  })
  return {
    /** What is wrong with the answer; undefined when all is well. */
    async try(each) {
      const request = requestOf(each)
      if (!request) return undefined
      spins.begin(JSON.stringify(each))
      const wrong = await unlessItHangs(async () => judge(await v1.fetch(request), each))
      spins.end()
      return wrong ?? (faults.length > 0 ? `faults: ${faults.join()}` : undefined)
    },
  }
}

/** Undefined for what the platform itself refuses to send. */
function requestOf({ method, path, headers, body, pieces }: Hostile): Request | undefined {
  try {
    const all = new Headers()
    for (const [name, value] of headers) all.append(name, value)
    const bare = method === 'GET' || method === 'HEAD' || body === undefined
    const sent = bare ? undefined : pieces > 0 ? inPieces(body, pieces) : body
    return new Request(`http://x/v1${path}`, { method, headers: all, body: sent, duplex: 'half' } as RequestInit)
  } catch {
    return undefined
  }
}

function inPieces(body: Uint8Array | string, size: number): ReadableStream<Uint8Array> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  let at = 0
  // Many small pieces, but not twenty thousand of them.
  const step = Math.max(size, bytes.length >> 6)
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + step))
      at += step
    },
  })
}

async function judge(response: Response, { method, path, leaveAfter }: Hostile): Promise<string | undefined> {
  const { status, headers } = response
  if (!/^req_/.test(headers.get('x-request-id') ?? '')) return 'it has no request id'
  const type = headers.get('content-type') ?? ''
  const streams = /^(text\/event-stream|application\/x-ndjson)/.test(type)
  if (streams && leaveAfter < 99) return leave(response, leaveAfter)
  const text = await response.text()
  if (status >= 500) return `${status} ${text}`
  if (streams && !ENDS.test(text)) return `the stream ends with ${text.slice(-300)}`
  if (status < 400 || method === 'HEAD') return undefined
  // As it arrives: `..` goes up.
  const place = new URL(`http://x/v1${path}`).pathname.replace(/^\/v1/, '').replace(/\/$/, '')
  const isOllama = OLLAMA.has(place)
  return isOllama ? ollamaFault(text) : errorFault(text, /^\/messages(\/count_tokens)?$/.test(place))
}

/** OpenAI's streams, Anthropic's, and Ollama's. */
const ENDS =
  /(data: (\[DONE\]|\{"type":"message_stop"\}|\{"type":"error",.*\})\n\n|\{.*("done":true|"status":"success"|"error":).*\}\n)$/
const OLLAMA = new Set((ollama().endpoints as readonly { path: string }[]).map(({ path }) => path).filter(Boolean))

function ollamaFault(text: string): string | undefined {
  const { error, ...rest } = JSON.parse(text)
  const isWhole = typeof error === 'string' && Object.keys(rest).length === 0
  return isWhole ? undefined : `no error of Ollama's form: ${text}`
}

async function leave(response: Response, reads: number): Promise<undefined> {
  const reader = response.body!.getReader()
  for (let i = 0; i < reads; i++) await reader.read()
  await reader.cancel()
}

function errorFault(text: string, isMessage: boolean): string | undefined {
  const { type, error, request_id: id } = JSON.parse(text)
  if (isMessage) {
    const isWhole = type === 'error' && /^req_/.test(id) && typeof error.message === 'string' && /_/.test(error.type)
    return isWhole ? undefined : `no error of Anthropic's form: ${text}`
  }
  const strings = typeof error.message === 'string' && typeof error.type === 'string'
  const orNull = [error.param, error.code].every((each) => each === null || typeof each === 'string')
  if (!strings || !orNull || Object.keys(error).length !== 4) return `no error of OpenAI's form: ${text}`
  return undefined
}
