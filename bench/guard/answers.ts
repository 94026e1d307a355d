/**
 * Passes that an answer takes, through the whole service and on the CPU device. The model is small and random, and so
 * stays what it is when others are trained anew.
 */

import type { Batch } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { WebGpuEngine } from '../../src/engines/webgpu/engine.js'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { smallTokenizer } from '../../src/generate/testing/small-tokenizer.test-helper.js'
import { createV1 } from '../../src/index.js'
import type { Counts } from './compare.js'
import { passesOf, watched } from './watched-device.js'

const MODEL = 'guard/tiny'
const messages = [{ role: 'user', content: 'the quick brown fox' }]
const plain = { model: MODEL, messages, max_tokens: 24, temperature: 0 }

const strictly = (schema: object) => ({
  ...plain,
  max_tokens: 200,
  response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
})
const object = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
/** Much is to be chosen. */
const OPEN = object({
  kind: { enum: ['fox', 'dog'] },
  open: { type: 'boolean' },
  name: { type: 'string', minLength: 6, maxLength: 6 },
})
/** Nothing is to be chosen. */
const CERTAIN = object({ kind: { const: 'the quick brown fox' }, version: { const: 12345678 } })

const ASKED: readonly { readonly name: string; readonly path?: string; readonly body: object }[] = [
  { name: 'plain text', body: plain },
  { name: 'the same once more, its prompt kept', body: plain },
  { name: 'plain text, n = 4', body: { ...plain, n: 4 } },
  { name: 'strict JSON', body: strictly(OPEN) },
  { name: 'strict JSON, all of it certain', body: strictly(CERTAIN) },
  {
    name: 'strict JSON, all of it certain, by Responses',
    path: 'responses',
    body: {
      model: MODEL,
      input: 'the quick brown fox',
      max_output_tokens: 200,
      text: { format: { type: 'json_schema', name: 'answer', strict: true, schema: CERTAIN } },
    },
  },
]

const QUESTIONS = Array.from({ length: 24 }, (_, i) => ({
  type: 'choice',
  instructions: `Is it ${i}?`,
  choices: ['the fox', 'the fox and the dog', 'the dog'].map((value) => ({ value })),
}))
const decided = { model: MODEL, input: 'the quick brown fox jumps over the lazy dog. '.repeat(4), questions: QUESTIONS }

/** They are told whole, and once. */
const DECIDED = [
  { name: '24 decisions', path: 'decisions', body: decided },
  { name: 'the same once more, the state kept', path: 'decisions', body: decided },
  {
    name: '6 decisions, averaged over orders',
    path: 'decisions',
    body: { ...decided, order: 'average', questions: QUESTIONS.slice(0, 6) },
  },
]

export async function countAnswers(): Promise<Counts> {
  const passes: Batch[] = []
  const engine = new WebGpuEngine(
    // What is gained is found out by a clock.
    { models: [MODEL], drafts: 'never', log: () => {} },
    {
      openDevice: async () => watched(await openCpuDevice({ threads: 1, variant: 'simd' }), passes),
      openRepository: async () => ({ weights: tinyRepository(1).source, text: smallTokenizer() }),
    },
  )
  const v1 = createV1({ engine, keys: 'none' })
  const found: Record<string, Counts> = {}
  try {
    for (const stream of [false, true]) {
      for (const { name, path = 'chat/completions', body } of stream ? ASKED : [...ASKED, ...DECIDED]) {
        passes.length = 0
        const request = new Request(`http://localhost/v1/${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...body, ...(stream && { stream }) }),
        })
        const response = await v1.fetch(request)
        const text = await response.text()
        if (response.status !== 200) throw new Error(`${name}: ${text}`)
        found[stream ? `${name}, streamed` : name] = {
          ...passesOf(passes),
          ...(stream ? { events: text.split('\n\n').length - 1 } : usageOf(JSON.parse(text))),
        }
      }
    }
  } finally {
    await v1.close()
  }
  return found
}

function usageOf({ usage }: { usage: Record<string, number> }): Counts {
  return {
    'tokens of the prompt': usage.prompt_tokens ?? usage.input_tokens!,
    'tokens of the answer': usage.completion_tokens ?? usage.output_tokens!,
  }
}
