import { endpointOf, events, sendRequest } from '../../adapters/client/endpoint.js'
import type { V1 } from '../service/index.js'

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface ChatPrompt {
  readonly model: string
  readonly messages: readonly Turn[]
  readonly maxTokens?: number
  readonly temperature?: number
  readonly schema?: { readonly name: string; readonly schema: unknown }
  readonly signal?: AbortSignal
}

/** What an answer took. */
export interface Took {
  readonly tokens: number
  readonly firstMs: number
  readonly wholeMs: number
}

interface Chunk {
  readonly usage?: { readonly completion_tokens: number } | null
  readonly choices?: readonly { readonly delta: { readonly content?: string | null } }[]
}

/** Asks through the handler itself: what the terminal shows is what a client on the wire gets. */
export async function* chatParts(
  v1: V1,
  { model, messages, maxTokens, temperature, schema, signal }: ChatPrompt,
): AsyncGenerator<string, Took> {
  const began = performance.now()
  let firstMs = 0
  let tokens = 0
  const body = {
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: maxTokens,
    temperature,
    response_format: schema && { type: 'json_schema', json_schema: { ...schema, strict: true } },
  }
  const response = await sendRequest(endpointOf(v1), '/chat/completions', { body, signal })
  for await (const chunk of events<Chunk>(response)) {
    tokens = chunk.usage?.completion_tokens ?? tokens
    const text = chunk.choices?.[0]?.delta.content
    if (!text) continue
    firstMs ||= performance.now() - began
    yield text
  }
  return { tokens, firstMs, wholeMs: performance.now() - began }
}
