/** One model on one device, under a decode loop that guesses more or less. */

import { openCpuDevice } from '../../src/device/cpu/index.js'
import { openWebGpuDevice } from '../../src/device/gpu/index.js'
import { ChatText } from '../../src/generate/chat-text.js'
import { DecodeLoop } from '../../src/generate/decode-loop.js'
import { DraftModel } from '../../src/generate/drafts/draft-model.js'
import type { DraftMode } from '../../src/generate/drafts/mode.js'
import { locationOf } from '../../src/models/files/location.js'
import { openRepository } from '../../src/models/files/open.js'
import { loadCore } from '../../src/models/load.js'
import { findGpu } from '../profile/find-gpu.js'

export interface DraftSubject {
  readonly device: string
  readonly loop: DecodeLoop
  passes: number
  close(): Promise<void>
}

export async function openSubject(
  folder: string,
  kind: 'cpu' | 'webgpu',
  threads: number,
  drafts: DraftMode,
  draft?: string,
): Promise<DraftSubject> {
  const device = kind === 'cpu' ? await openCpuDevice({ threads }) : await openWebGpuDevice({ gpu: await findGpu() })
  const signal = new AbortController().signal
  const open = (name: string) => openRepository(locationOf(name), { report: () => {}, signal })
  const repository = await open(folder)
  const text = new ChatText(repository.text)
  const sizes = { contextLength: 2048, cacheTokens: 8192, maxBatch: 8 }
  const tokens = text.tokenizer.size
  const core = await loadCore(device, repository.weights, {
    ...sizes,
    tokens,
    draftHead: drafts !== 'never' && draft === undefined,
  })
  const small =
    draft === undefined ? undefined : await loadCore(device, (await open(draft)).weights, { ...sizes, tokens })
  const counted: typeof core = new Proxy(core, {
    get(target, name) {
      if (name === 'step') subject.passes++
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const subject: DraftSubject = {
    device: `${device.info.kind} (${device.info.name})`,
    passes: 0,
    loop: new DecodeLoop(counted, text, { drafts, ...(small && { draftModel: new DraftModel(small) }) }),
    close: async () => {
      await subject.loop.close()
      device.destroy()
    },
  }
  return subject
}
