/** Tokens per second of WebLLM's chat and of ours over it, on the same weights, where WebLLM runs in this thread. */

import { webllmHere } from '../../src/engines/webllm/here.js'
import { call } from '../../src/generate/testing/call.test-helper.js'
import { MODEL, recordAt } from './checks.js'

/** Decoded tokens per second, from the first one on: prompts and compiling are left out. */
interface Pace {
  readonly tokens: number
  readonly seconds: number
}

const TOKENS = 16
const messages = [{ role: 'user' as const, content: 'Hi' }]

async function ours(origin: string): Promise<Pace> {
  const engine = webllmHere({ models: [recordAt(origin)], cache: false, loader: () => import('@mlc-ai/web-llm') })
  let pace: Pace | undefined
  // The first round compiles.
  for (let round = 0; round < 2; round++) {
    let first = 0
    const sampling = { ...call().sampling, temperature: 0 }
    for await (const part of engine.generate(
      call({ model: MODEL, messages, sampling, maxTokens: TOKENS, topLogprobs: 0 }),
    )) {
      if (part.type === 'text-delta') first ||= performance.now()
      if (part.type === 'usage') {
        pace = { tokens: part.usage.completionTokens - 1, seconds: (performance.now() - first) / 1000 }
      }
    }
  }
  await engine.close!()
  return pace!
}

async function theirs(origin: string): Promise<Pace> {
  const record = recordAt(origin)
  const { MLCEngine } = await import('@mlc-ai/web-llm')
  const engine = new MLCEngine({ appConfig: { model_list: [{ ...record, model: `${record.model}/resolve/main/` }] } })
  await engine.reload(record.model_id)
  let pace: Pace | undefined
  for (let round = 0; round < 2; round++) {
    let first = 0
    let tokens = 0
    const stream = await engine.chat.completions.create({
      messages,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      max_tokens: TOKENS,
    })
    for await (const chunk of stream) {
      first ||= performance.now()
      tokens = chunk.usage?.completion_tokens ?? tokens
    }
    pace = { tokens: tokens - 1, seconds: (performance.now() - first) / 1000 }
    await engine.resetChat()
  }
  await engine.unload()
  return pace!
}

export const bothPaces = async (origin: string) => ({ theirs: await theirs(origin), ours: await ours(origin) })
