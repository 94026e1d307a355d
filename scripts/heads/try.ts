/** What becomes of a damaged model: it is read as far as it is before its weights are downloaded. */
import type { ChatText } from '../../src/decode/chat-text.js'
import type { openCpuDevice } from '../../src/engines/webgpu/cpu/index.js'
import { chatTextOf, planLoad } from '../../src/engines/webgpu/loaded-model.js'
import { V1Error } from '../../src/errors.js'
import { openRepository } from '../../src/repository/open.js'
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
  const named = [...files].map(([name, blob]) => Object.assign(blob, { name }))
  const { weights, text } = await openRepository(
    { kind: 'files', files: named },
    { report: () => {}, signal: new AbortController().signal },
  )
  planLoad({ id: 'org/damaged' } as Parameters<typeof planLoad>[0], weights, device, undefined)
  const chat: ChatText = chatTextOf('org/damaged', text)
  void chat.vocabulary
  chat.prompt({
    messages: [{ role: 'user', content: 'Hello, is it me? 12345' }],
    tools: [],
    toolChoice: 'auto',
    output: { type: 'text' },
    describeSchema: false,
  } as unknown as Parameters<typeof chat.prompt>[0])
}

function faultOf({ overlaps }: DamagedModel, refused: unknown): string | undefined {
  if (refused === undefined) return overlaps ? 'accepted, and its tensors overlap' : undefined
  if (!V1Error.is(refused)) return `a nameless error: ${(refused as Error)?.stack ?? String(refused)}`
  const { status, code, message } = refused
  if (status === 500 && !code) return `a 500 without a code: ${message}`
  return undefined
}
