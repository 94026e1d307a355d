import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import type { ChatCall, Engine, Part } from '../../src/contract/engine.js'
import { createV1 } from '../../src/index.js'

export const MODEL = 'bench/instant'
export const KEY = 'sk-bench-0123456789abcdef0123456789abcdef'

/** An engine that costs nothing but its own parts: what is left is the handler. */
export function instantEngine(parts: number): Engine {
  const output: Part[] = Array.from({ length: parts }, () => ({ type: 'text-delta', choice: 0, text: ' token' }))
  output.push({ type: 'finish', choice: 0, reason: 'stop' })
  output.push({ type: 'usage', usage: { promptTokens: 20, completionTokens: parts, cachedTokens: 0 } })
  return {
    models: [{ id: MODEL, ownedBy: 'bench' }],
    async *generate() {
      for (const part of output) yield part
    },
  }
}

export const call: ChatCall = {
  id: 'chatcmpl-bench',
  model: MODEL,
  messages: [{ role: 'user', content: 'Hello?' }],
  signal: new AbortController().signal,
  n: 1,
  stop: [],
  sampling: { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0 },
  output: { type: 'text' },
  tools: [],
  toolChoice: 'none',
  parallelToolCalls: true,
  describeSchema: true,
}

const body = (stream: boolean): string =>
  JSON.stringify({
    model: MODEL,
    stream,
    temperature: 0.7,
    max_tokens: 256,
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Hello?' },
    ],
  })
const bodies = { true: body(true), false: body(false) }

export function requestFor(stream: boolean): Request {
  return new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: bodies[`${stream}`],
  })
}

export type Fetch = (request: Request) => Response | Promise<Response>

export function ours(engine: Engine): Fetch {
  return createV1({ engine, keys: [KEY] }).fetch
}

/** What one writes by hand in an hour: no checks, no queue, no accounts. `more` is added to the answer, to make it as long as ours. */
export function bareHono(engine: Engine, more: object = {}): Fetch {
  const app = new Hono()
  app.post('/v1/chat/completions', async (c) => {
    const { stream } = await c.req.json()
    const head = { id: 'chatcmpl-1', created: Math.floor(Date.now() / 1000), model: MODEL, ...more }
    if (stream) {
      return streamSSE(c, async (events) => {
        for await (const part of engine.generate(call)) {
          if (part.type !== 'text-delta') continue
          const choices = [{ index: 0, delta: { content: part.text }, logprobs: null, finish_reason: null }]
          await events.writeSSE({ data: JSON.stringify({ ...head, object: 'chat.completion.chunk', choices }) })
        }
        await events.writeSSE({ data: '[DONE]' })
      })
    }
    let content = ''
    for await (const part of engine.generate(call)) if (part.type === 'text-delta') content += part.text
    const choices = [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }]
    return c.json({ ...head, object: 'chat.completion', choices })
  })
  return (request) => app.fetch(request)
}
