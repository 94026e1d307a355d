/** The same answer from the engine itself and through `/v1`, streamed and whole, in turns: what the service costs. */

import type { ChatCall, Engine, Part } from '../../contract/index.js'
import { createV1, type V1 } from '../../service/index.js'
import { timed } from '../clock.js'
import { plainCall } from '../engine-subject.js'
import { promptText } from '../prompts.js'
import { median } from '../stats.js'
import type { EngineUnderTest } from '../subject.js'
import { now } from '../time.js'
import type { Scenario } from './scenario.js'
import { fits } from './scenario.js'

/** So many times each per round, each way once first, second and third: who comes later may find warmer caches. */
const TURNS = 3
const WORDS = 24
const PROMPT = promptText(1, WORDS)
/** Requests after which a runtime has compiled the service as it compiled the model's code, which ran for every token. */
const WARM_UP = 500

const WAYS = ['alone', 'streamed', 'whole'] as const
type Way = (typeof WAYS)[number]

interface Timed {
  readonly seconds: number
  readonly tokens: number
  readonly text: string
}

export function throughV1(tokens: number): Scenario {
  let service: { of: EngineUnderTest; v1: V1 } | undefined
  return {
    part: 'v1',
    name: 'through /v1',
    suits: (subject) => subject.engine !== undefined && fits(subject, 4 * WORDS + tokens),
    async run({ engine }) {
      const of = engine!
      if (service?.of !== of) {
        service = { of, v1: createV1({ engine: of.engine, keys: 'none' }) }
        await warmUp(of, tokens)
      }
      const turns: Record<Way, Timed>[] = []
      for (let i = 0; i < TURNS; i++) turns.push(await turnOf(of, service.v1, tokens, i))
      const speed = (way: Way) => median(turns.map((turn) => turn[way].tokens / turn[way].seconds))
      // Of one turn, whose three answers stand side by side: what disturbs the machine for longer disturbs all of them.
      const ratio = (way: Way) => median(turns.map((turn) => perToken(turn[way]) / perToken(turn.alone)))
      return [
        { metric: 'engine-alone', value: speed('alone') },
        { metric: 'through-v1', value: speed('streamed') },
        { metric: 'v1-ratio', value: ratio('streamed') },
        { metric: 'through-v1-whole', value: speed('whole') },
        { metric: 'v1-whole-ratio', value: ratio('whole') },
      ]
    },
  }
}

/** As a service that has been up for a while: the same answers, without the model's work. */
async function warmUp(of: EngineUnderTest, tokens: number): Promise<void> {
  const parts: Part[] = []
  for await (const part of of.engine.generate(callOf(of, tokens))) parts.push(part)
  const engine: Engine = {
    models: of.engine.models,
    async *generate() {
      yield* parts
    },
  }
  const v1 = createV1({ engine, keys: 'none' })
  for (let i = 0; i < WARM_UP; i++) {
    await exchange(v1, bodyOf(of, tokens, true), readEvents)
    await exchange(v1, bodyOf(of, tokens, false), readCompletion)
  }
}

const perToken = ({ seconds, tokens }: Timed): number => seconds / tokens

async function turnOf(of: EngineUnderTest, v1: V1, tokens: number, turn: number): Promise<Record<Way, Timed>> {
  const call = callOf(of, tokens)
  const ask: Readonly<Record<Way, () => Promise<Timed>>> = {
    alone: () => timed(of.engine, call),
    streamed: () => exchange(v1, bodyOf(of, tokens, true), readEvents),
    whole: () => exchange(v1, bodyOf(of, tokens, false), readCompletion),
  }
  const answers: Partial<Record<Way, Timed>> = {}
  for (let i = 0; i < WAYS.length; i++) {
    const way = WAYS[(turn + i) % WAYS.length]!
    answers[way] = await ask[way]()
  }
  const all = answers as Record<Way, Timed>
  if (WAYS.some((way) => all[way].text !== all.alone.text))
    throw new Error('The service and the engine gave different answers.')
  return all
}

const callOf = (of: EngineUnderTest, tokens: number): ChatCall => plainCall(of, PROMPT, tokens)

function bodyOf({ model, ends }: EngineUnderTest, tokens: number, stream: boolean): string {
  return JSON.stringify({
    model,
    messages: [{ role: 'user', content: PROMPT }],
    max_tokens: tokens,
    // What is not said is as the model's makers recommend.
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    seed: 1,
    ...(stream && { stream, stream_options: { include_usage: true } }),
    ...(ends.length > 0 && { logit_bias: Object.fromEntries(ends.map((id) => [id, -100])) }),
  })
}

/** What a client does: a request, and its answer read piece by piece, as it comes. */
async function exchange(
  v1: V1,
  body: string,
  understand: (answer: string) => { text: string; tokens: number },
): Promise<Timed> {
  const decoder = new TextDecoder()
  const start = now()
  const response = await v1.fetch(
    new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    }),
  )
  const reader = response.body!.getReader()
  let answer = ''
  for (let next = await reader.read(); !next.done; next = await reader.read())
    answer += decoder.decode(next.value, { stream: true })
  const seconds = (now() - start) / 1000
  if (!response.ok) throw new Error(`/v1 answered ${response.status}: ${answer}`)
  return { seconds, ...understand(answer) }
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string | null } }[]
  readonly usage?: { readonly completion_tokens: number } | null
}

function readEvents(events: string): { text: string; tokens: number } {
  let text = ''
  let tokens = 0
  for (const line of events.split('\n')) {
    if (!line.startsWith('data: {')) continue
    const chunk = JSON.parse(line.slice('data: '.length)) as Chunk
    text += chunk.choices[0]?.delta.content ?? ''
    tokens = chunk.usage?.completion_tokens ?? tokens
  }
  return { text, tokens }
}

interface Completion {
  readonly choices: readonly { readonly message: { readonly content: string | null } }[]
  readonly usage: { readonly completion_tokens: number }
}

function readCompletion(answer: string): { text: string; tokens: number } {
  const { choices, usage } = JSON.parse(answer) as Completion
  return { text: choices[0]!.message.content ?? '', tokens: usage.completion_tokens }
}
