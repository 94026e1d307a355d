import type { V1 } from '../v1.js'
import { Fault } from './fault.js'

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface Ask {
  readonly model: string
  readonly messages: readonly Turn[]
  readonly maxTokens?: number
  readonly temperature?: number
  readonly schema?: { readonly name: string; readonly schema: unknown }
  readonly signal?: AbortSignal
}

interface Chunk {
  readonly choices?: readonly { readonly delta: { readonly content?: string | null } }[]
  readonly error?: { readonly message: string }
}

/** Asks through the handler itself: what the terminal shows is what a client on the wire gets. */
export async function* ask(
  v1: V1,
  { model, messages, maxTokens, temperature, schema, signal }: Ask,
): AsyncGenerator<string> {
  const response = await v1.fetch(
    new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages,
        stream: true,
        max_tokens: maxTokens,
        temperature,
        response_format: schema && { type: 'json_schema', json_schema: { ...schema, strict: true } },
      }),
      signal,
    }),
  )
  if (!response.ok) throw new Fault(((await response.json()) as Required<Chunk>).error.message, 1)
  for await (const data of events(response)) {
    if (data === '[DONE]') return
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error) throw new Fault(chunk.error.message, 1)
    const text = chunk.choices?.[0]?.delta.content
    if (text) yield text
  }
}

async function* events(response: Response): AsyncGenerator<string> {
  let rest = ''
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length).trimEnd()
  }
}
