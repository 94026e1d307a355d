import { type Capabilities, type ChatCall, type Engine, type Part, textOf } from '../../src/contract/engine.js'
import { V1Error } from '../../src/contract/errors.js'

/** What each model does when it is asked. JSON, so that it reaches runtimes in other processes. */
export type Scenario = Readonly<Record<string, Script>>

export interface Script {
  /** Waits before anything happens. */
  readonly delayMs?: number
  /** Said in this order; the text of `$last` is the last message's. */
  readonly parts?: readonly Part[]
  /** After the parts: the same text again and again. Without `times`, for ever. */
  readonly repeat?: { readonly text: string; readonly everyMs: number; readonly times?: number }
  /** Thrown last: before the first part where there are no parts. */
  readonly error?: { readonly status: number; readonly message: string; readonly retryAfter?: number }
  /** Not a `V1Error`, but what a bug looks like: its message must never reach a client. */
  readonly crash?: string
  /** What it does instead on its first calls, one each. */
  readonly first?: readonly Script[]
  /** Never looks at the call's signal: only the service's own `return()` stops it. */
  readonly deaf?: boolean
  readonly capabilities?: Capabilities
}

/** What happened inside the engine, as far as a test can ask from outside. */
export interface Probe {
  started: number
  active: number
  /** Steps of `repeat`, over all calls. */
  steps: number
  /** Steps begun after the call's signal had aborted. */
  stepsAfterAbort: number
  aborted: number
  /** Requests of any kind that have reached the service. */
  arrived?: number
  /** How the service has counted the calls. */
  outcomes?: Readonly<Record<string, number>>
  /** The call as the service made it. */
  lastCall?: Pick<ChatCall, 'model' | 'messages' | 'n' | 'maxTokens' | 'stop' | 'sampling' | 'output'>
}

export interface ScenarioEngine extends Engine {
  probe(model: string): Probe
}

export function scenarioEngine(scenario: Scenario): ScenarioEngine {
  const probes = new Map<string, Probe>()
  const probe = (model: string) => {
    const known = probes.get(model) ?? { started: 0, active: 0, steps: 0, stepsAfterAbort: 0, aborted: 0 }
    probes.set(model, known)
    return known
  }
  return {
    version: 2,
    models: Object.entries(scenario).map(([id, { capabilities }]) => ({
      ...{ id, ownedBy: 'contract' },
      ...(capabilities && { capabilities }),
    })),
    probe,
    // Tokens are bytes; a vector has how many there are, then them; a score is the share of the document that is the query.
    async embed({ inputs, dimensions = 8 }) {
      const all = inputs.map(bytesOf)
      const vectors = all.map((bytes) =>
        Float32Array.from({ length: dimensions }, (_, i) => [bytes.length, ...bytes.slice(0, 1)][i] ?? 0),
      )
      return { vectors, promptTokens: all.reduce((sum, { length }) => sum + length, 0) }
    },
    async decide({ questions, state }) {
      return {
        answers: questions.map(({ options }) => ({ probabilities: options.map(() => 1 / options.length) })),
        usage: { promptTokens: state.length, completionTokens: 0, cachedTokens: 0 },
      }
    },
    async rank({ query, documents }) {
      const scores = documents.map((each) => (each.split(query).length - 1) / each.length)
      return { scores, promptTokens: documents.length }
    },
    // Of two classes: how much of a text is the letter a.
    async classify({ inputs }) {
      const all = inputs.map(bytesOf)
      const shares = all.map((bytes) => bytes.filter((byte) => byte === 97).length / bytes.length)
      const promptTokens = all.reduce((sum, { length }) => sum + length, 0)
      return { probabilities: shares.map((share) => [share, 1 - share]), labels: ['a', 'other'], promptTokens }
    },
    async tokenize(call) {
      const text = 'prompt' in call ? call.prompt : call.messages.map(({ content }) => textOf(content)).join('')
      const tokens = bytesOf(text)
      return { tokens, texts: tokens.map((byte) => String.fromCharCode(byte)) }
    },
    detokenize: async ({ tokens }) => new TextDecoder().decode(Uint8Array.from(tokens)),
    tokenizerInfo: async () => ({ tokenizer_class: 'ByteTokenizer' }),
    async *generate(call) {
      const mine = probe(call.model)
      mine.started++
      mine.active++
      const { model, messages, n, maxTokens, stop, sampling, output } = call
      mine.lastCall = { model, messages, n, maxTokens, stop, sampling, output }
      try {
        const script = scenario[call.model]!
        yield* play(script.first?.[mine.started - 1] ?? script, call, mine)
      } finally {
        mine.active--
        if (call.signal.aborted) mine.aborted++
      }
    },
  }
}

const bytesOf = (input: string | readonly number[]): readonly number[] =>
  typeof input === 'string' ? [...new TextEncoder().encode(input)] : input

async function* play(script: Script, call: ChatCall, probe: Probe): AsyncGenerator<Part> {
  const signal = script.deaf ? undefined : call.signal
  if (script.delayMs) await sleep(script.delayMs, signal)
  for (const part of script.parts ?? []) yield spoken(part, call)
  const { text, everyMs, times = Number.POSITIVE_INFINITY } = script.repeat ?? { text: '', everyMs: 0, times: 0 }
  for (let step = 0; step < times; step++) {
    // A step of a real engine gives way to the event loop, however short it is.
    await sleep(everyMs, signal)
    probe.steps++
    if (call.signal.aborted) probe.stepsAfterAbort++
    yield { type: 'text-delta', choice: 0, text }
  }
  if (script.crash) throw new Error(script.crash)
  if (script.error) {
    throw new V1Error(script.error.status, script.error.message, { retryAfter: script.error.retryAfter })
  }
  if (script.repeat) {
    yield { type: 'finish', choice: 0, reason: 'stop' }
    yield { type: 'usage', usage: { promptTokens: 1, completionTokens: probe.steps, cachedTokens: 0 } }
  }
}

function spoken(part: Part, call: ChatCall): Part {
  if (part.type !== 'text-delta') return part
  return { ...part, text: part.text.replace('$last', () => textOf(call.messages.at(-1)?.content ?? '')) }
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const timer = setTimeout(done, ms)
    function done() {
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    function stop() {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', stop, { once: true })
  })
}
