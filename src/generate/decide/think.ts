import type { ChatCall, DecideCall, Part } from '../../contract/index.js'
import type { SharedThought } from './decide.js'
import { stateBlock, stateText } from './questions.js'

const TASK = 'You will be asked questions about a state. Think about what matters in it.'
/** The answer after the thought is thrown away. */
const ANSWER_TOKENS = 1

/** A thought of at most so many tokens about the state alone: every question is given it, and none of them has a part in it. */
export async function thinkAbout(
  { id, model, signal, caller, state }: DecideCall,
  most: number,
  generate: (call: ChatCall) => AsyncIterable<Part>,
): Promise<SharedThought> {
  const call: ChatCall = {
    id,
    model,
    signal,
    ...(caller !== undefined && { caller }),
    messages: [
      { role: 'system', content: TASK },
      { role: 'user', content: stateBlock(stateText(state), '') },
    ],
    n: 1,
    stop: [],
    // The same state is thought about in the same way.
    sampling: { seed: 0 },
    maxTokens: most + ANSWER_TOKENS,
    output: { type: 'text' },
    tools: [],
    toolChoice: 'none',
    parallelToolCalls: false,
    templateOptions: { enable_thinking: true },
    thinkingBudget: most,
    describeSchema: false,
  }
  let text = ''
  let tokens = 0
  for await (const part of generate(call)) {
    if (part.type === 'reasoning-delta') text += part.text
    if (part.type === 'usage') tokens = part.usage.completionTokens
  }
  return { text, tokens }
}
