/** The same answer through `/v1` and from the engine itself, in turns: what the service costs. */

import { createV1, type V1 } from '../../../src/v1.js'
import { timed } from '../clock.js'
import { plainCall } from '../engine-subject.js'
import { promptText } from '../prompts.js'
import type { EngineUnderTest } from '../subject.js'
import { now } from '../time.js'
import type { Scenario } from './scenario.js'
import { fits } from './scenario.js'

/** So many times each per round: a difference of a few hundredths is looked for. */
const PAIRS = 4
const WORDS = 24

export function throughV1(tokens: number): Scenario {
  let service: { of: EngineUnderTest; v1: V1 } | undefined
  return {
    part: 'v1',
    name: 'through /v1',
    suits: (subject) => subject.engine !== undefined && fits(subject, 4 * WORDS + tokens),
    async run({ engine }) {
      const of = engine!
      if (service?.of !== of) service = { of, v1: createV1({ engine: of.engine, keys: 'none' }) }
      const { v1 } = service
      const content = promptText(1, WORDS)
      const alone = { seconds: 0, tokens: 0 }
      const through = { seconds: 0, tokens: 0 }
      const call = plainCall(of, content, tokens)
      for (let i = 0; i < PAIRS; i++) {
        const direct = () => timed(of.engine, call)
        const wired = () => overTheWire(v1, of, content, tokens)
        // Whoever comes second may find warmer caches: they take turns at it.
        const [a, b] = i % 2 === 0 ? [await direct(), await wired()] : (await both(wired, direct)).reverse()
        if (a!.text !== b!.text) throw new Error('The service and the engine gave different answers.')
        alone.seconds += a!.seconds
        alone.tokens += a!.tokens
        through.seconds += b!.seconds
        through.tokens += b!.tokens
      }
      const bare = alone.tokens / alone.seconds
      const wired = through.tokens / through.seconds
      return [
        { metric: 'engine-alone', value: bare },
        { metric: 'through-v1', value: wired },
        { metric: 'v1-ratio', value: bare / wired },
      ]
    },
  }
}

interface Timed {
  readonly seconds: number
  readonly tokens: number
  readonly text: string
}

async function both(first: () => Promise<Timed>, second: () => Promise<Timed>): Promise<Timed[]> {
  return [await first(), await second()]
}

/** What a client does: a request, and the stream read to its end. */
async function overTheWire(v1: V1, { model, ends }: EngineUnderTest, content: string, tokens: number): Promise<Timed> {
  const body = JSON.stringify({
    model,
    messages: [{ role: 'user', content }],
    max_tokens: tokens,
    seed: 1,
    stream: true,
    stream_options: { include_usage: true },
    ...(ends.length > 0 && { logit_bias: Object.fromEntries(ends.map((id) => [id, -100])) }),
  })
  const start = now()
  const request = new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const response = await v1.fetch(request)
  const events = await response.text()
  const seconds = (now() - start) / 1000
  if (!response.ok) throw new Error(`/v1 answered ${response.status}: ${events}`)
  return { seconds, ...read(events) }
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string | null } }[]
  readonly usage?: { readonly completion_tokens: number } | null
}

function read(events: string): { text: string; tokens: number } {
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
