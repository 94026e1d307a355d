/** Takes an engine's answer apart by the clock. */

import type { ChatCall, Engine } from '../contract/index.js'
import type { SubjectAnswer } from './subject.js'
import { now } from './time.js'

export interface TimedAnswer extends SubjectAnswer {
  readonly text: string
  /** Tokens that the grammar decided, without a forward pass of their own. */
  readonly forced: number
}

export async function timed(engine: Engine, call: ChatCall): Promise<TimedAnswer> {
  let first: number | undefined
  let text = ''
  let forced = 0
  let pieces = 0
  let usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }
  const start = now()
  for await (const part of engine.generate(call)) {
    if (part.type === 'usage') usage = part.usage
    else first ??= now()
    if (part.type !== 'text-delta') continue
    text += part.text
    pieces++
    forced += part.forced ?? 0
  }
  const end = now()
  return {
    seconds: (end - start) / 1000,
    firstSeconds: ((first ?? end) - start) / 1000,
    promptTokens: usage.promptTokens,
    cachedTokens: usage.cachedTokens,
    // A service that does not count sends a token at a time.
    tokens: usage.completionTokens || pieces,
    text,
    forced,
  }
}

/** A call as a request without options makes it, but for what is given. */
export function chatCallOf(part: Pick<ChatCall, 'model' | 'messages'> & Partial<ChatCall>): ChatCall {
  return {
    id: 'chatcmpl-bench',
    signal: new AbortController().signal,
    n: 1,
    stop: [],
    sampling: { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed: 1 },
    output: { type: 'text' },
    tools: [],
    toolChoice: 'none',
    parallelToolCalls: true,
    // Both sides of a comparison get the same prompt.
    describeSchema: false,
    ...part,
  }
}
