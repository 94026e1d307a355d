/** What becomes of a damaged model: it is read as far as it is before its weights are downloaded. */

import type { DecideCall, DecideQuestion } from '../../src/contract/engine.js'
import { V1Error } from '../../src/contract/errors.js'
import type { openCpuDevice } from '../../src/device/cpu/index.js'
import { chatTextOf, encoderWith, planLoad, tokenizerOf } from '../../src/engines/webgpu/loaded-model.js'
import { offeredModel } from '../../src/engines/webgpu/location.js'
import type { ChatText } from '../../src/generate/chat-text.js'
import { DecodeLoop } from '../../src/generate/decode-loop.js'
import { RandomModel } from '../../src/generate/testing/random-model.test-helper.js'
import { openRepository } from '../../src/models/files/open.js'
import type { DamagedModel } from './damage.js'

export interface Outcome {
  /** Undefined: it was accepted. */
  readonly refusal: string | undefined
  readonly ms: number
  /** What must not be; undefined: nothing is wrong. */
  readonly fault: string | undefined
}

export type Device = Awaited<ReturnType<typeof openCpuDevice>>

export async function tryModel(model: DamagedModel, device: Device): Promise<Outcome> {
  const began = performance.now()
  const refused = await read(model, device).then(
    () => undefined,
    (error: unknown) => error,
  )
  const ms = performance.now() - began
  const refusal = refused === undefined ? undefined : refused instanceof Error ? refused.message : String(refused)
  return { refusal, ms, fault: faultOf(model, refused) }
}

async function read({ files }: DamagedModel, device: Device): Promise<void> {
  const { weights, text } = await openRepository(
    typeof files === 'string'
      ? { kind: 'folder', path: files }
      : { kind: 'files', files: [...files].map(([name, blob]) => Object.assign(blob, { name })) },
    { report: () => {}, signal: new AbortController().signal },
  )
  const plan = planLoad(offeredModel('org/damaged'), weights, device, undefined)
  if ('task' in plan) {
    const { contextLength, batchTokens, batchTexts } = plan.size
    const vectors = async () => computed()
    const model = { contextLength, batchTokens, batchTexts, size: 1, fingerprint: '', vectors, close: async () => {} }
    const encoder = encoderWith('org/damaged', model, tokenizerOf('org/damaged', text), plan)
    if (plan.decision) await askAll(encoder)
    return
  }
  const chat: ChatText = chatTextOf('org/damaged', text)
  if (text.made) {
    await askAll(new DecodeLoop(new RandomModel({ vocabSize: chat.tokenizer.size, before: computed }), chat))
    return
  }
  void chat.vocabulary
  chat.prompt({
    messages: [{ role: 'user', content: 'Hello, is it me? 12345' }],
    tools: [],
    toolChoice: 'auto',
    output: { type: 'text' },
    describeSchema: false,
  } as unknown as Parameters<typeof chat.prompt>[0])
}

/** It was read, and all that was asked of it: nothing is computed. */
const READ = 'It was read.'
function computed(): never {
  throw new Error(READ)
}

const QUESTIONS: readonly DecideQuestion[] = [
  { type: 'predicate', instructions: 'Paid twice?', options: [{ text: 'Yes' }, { text: 'No' }] },
  {
    type: 'choice',
    name: 'who',
    instructions: 'Who helps?',
    options: [{ text: 'a', description: 'first' }, { text: 'b' }],
  },
  { type: 'score', instructions: 'How bad?', options: ['0', '1', '2'].map((text) => ({ text, description: text })) },
]

/** All kinds of questions, up to where they would be computed. */
async function askAll(decider: { decide(call: DecideCall): Promise<unknown> }): Promise<void> {
  const call: DecideCall = {
    ...{ id: 'dec-damaged', model: 'org/damaged', signal: new AbortController().signal },
    ...{ state: 'I paid twice.', questions: QUESTIONS, order: 'given', calibrated: false },
  }
  await decider.decide(call).catch((error: unknown) => {
    if (!(error instanceof Error && error.cause instanceof Error && error.cause.message === READ)) throw error
  })
}

function faultOf({ overlaps }: DamagedModel, refused: unknown): string | undefined {
  if (refused === undefined) return overlaps ? 'accepted, and its tensors overlap' : undefined
  if (!V1Error.is(refused)) return `a nameless error: ${(refused as Error)?.stack ?? String(refused)}`
  const { status, code, message } = refused
  if (status === 500 && !code) return `a 500 without a code: ${message}`
  return undefined
}
