/** Run in a page: the official client, pointed at the page's own service worker. */
import OpenAI, { NotFoundError } from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { KEY } from '../contract/services.js'

const client = new OpenAI({ baseURL: `${location.origin}/v1`, apiKey: KEY, dangerouslyAllowBrowser: true })
const messages = [{ role: 'user' as const, content: 'Hello?' }]

export interface ClientInPage {
  /** What the client made of it all. */
  ask(): Promise<Record<string, unknown>>
}

async function ask(): Promise<Record<string, unknown>> {
  let streamed = ''
  const stream = await client.chat.completions.create({ model: 'test/hello', messages, stream: true })
  for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? ''
  const parsed = await client.chat.completions.parse({
    model: 'test/json',
    messages,
    response_format: zodResponseFormat(z.object({ city: z.string(), tags: z.array(z.string()) }), 'city'),
  })
  const refused = await client.models.retrieve('test/nothing').catch((error: unknown) => error)
  for await (const chunk of await client.chat.completions.create({ model: 'test/endless', messages, stream: true })) {
    if (chunk.choices[0]?.delta.content) break
  }
  return {
    models: (await client.models.list()).data.length,
    streamed,
    parsed: parsed.choices[0]!.message.parsed,
    refused: refused instanceof NotFoundError && refused.code,
  }
}

Object.assign(window, { ask } satisfies ClientInPage)
