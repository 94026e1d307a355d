import type { V1 } from '../service/index.js'
import { Fault } from './fault.js'

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
  readonly error?: { readonly message: string }
}

/** Asks through the handler itself: what the terminal shows is what a client on the wire gets. */
export async function* chatParts(
  v1: V1,
  { model, messages, maxTokens, temperature, schema, signal }: ChatPrompt,
): AsyncGenerator<string, Took> {
  const began = performance.now()
  let firstMs = 0
  let tokens = 0
  const response = await v1.fetch(
    new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages,
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: maxTokens,
        temperature,
        response_format: schema && { type: 'json_schema', json_schema: { ...schema, strict: true } },
      }),
      signal,
    }),
  )
  if (!response.ok) throw new Fault(((await response.json()) as Required<Chunk>).error.message, 1)
  for await (const data of events(response)) {
    if (data === '[DONE]') break
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error) throw new Fault(chunk.error.message, 1)
    tokens = chunk.usage?.completion_tokens ?? tokens
    const text = chunk.choices?.[0]?.delta.content
    if (!text) continue
    firstMs ||= performance.now() - began
    yield text
  }
  return { tokens, firstMs, wholeMs: performance.now() - began }
}

async function* events(response: Response): AsyncGenerator<string> {
  let rest = ''
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length).trimEnd()
  }
}
