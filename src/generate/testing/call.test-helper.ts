import type { ChatCall, Part, TokenLogprob } from '../../contract/engine.js'
import { ChatText } from '../chat-text.js'
import { DecodeLoop } from '../decode-loop.js'
import { RandomModel, type RandomModelOptions } from './random-model.test-helper.js'
import { smallTokenizer } from './small-tokenizer.test-helper.js'

export const smallText = new ChatText(smallTokenizer())

export function setUp(options: Partial<RandomModelOptions> = {}, text = smallText, stepsAhead = 4) {
  const model = new RandomModel({ vocabSize: text.tokenizer.size, ...options })
  return { model, text, decoder: new DecodeLoop(model, text, { stepsAhead }) }
}

export function call(part: Partial<ChatCall> = {}): ChatCall {
  return {
    id: 'chatcmpl-test',
    model: 'test/small',
    messages: [{ role: 'user', content: 'Hello' }],
    signal: new AbortController().signal,
    n: 1,
    stop: [],
    sampling: { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed: 1 },
    output: { type: 'text' },
    tools: [],
    toolChoice: 'auto',
    parallelToolCalls: true,
    describeSchema: true,
    ...part,
  }
}

export interface Collected {
  readonly texts: string[]
  readonly reasons: string[]
  readonly calls: { id: string; name: string; arguments: string }[][]
  readonly logprobs: TokenLogprob[][]
  readonly forced: number
  readonly usage: { promptTokens: number; completionTokens: number; cachedTokens: number }
  readonly parts: Part[]
}

export async function collect(parts: AsyncIterable<Part>, n = 1): Promise<Collected> {
  const texts = Array.from({ length: n }, () => '')
  const reasons = Array.from({ length: n }, () => '')
  const calls: Collected['calls'] = Array.from({ length: n }, () => [])
  const logprobs: TokenLogprob[][] = Array.from({ length: n }, () => [])
  const all: Part[] = []
  let usage = { promptTokens: -1, completionTokens: -1, cachedTokens: -1 }
  let forced = 0
  for await (const part of parts) {
    all.push(part)
    if (part.type === 'text-delta') {
      texts[part.choice] += part.text
      logprobs[part.choice]!.push(...(part.logprobs ?? []))
      forced += part.forced ?? 0
    } else if (part.type === 'tool-call-delta') {
      const list = calls[part.choice]!
      if (part.id !== undefined) list.push({ id: part.id, name: part.name!, arguments: '' })
      list[part.index]!.arguments += part.arguments
    } else if (part.type === 'finish') reasons[part.choice] = part.reason
    else if (part.type === 'usage') usage = part.usage
  }
  return { texts, reasons, calls, logprobs, forced, usage, parts: all }
}

export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
