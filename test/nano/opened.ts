import type { PointingModel } from '../../src/contract/index.js'
import type { Device } from '../../src/device/contract.js'
import { ChatText } from '../../src/generate/chat-text.js'
import { DecodeLoop } from '../../src/generate/decode-loop.js'
import { Pointer } from '../../src/generate/pointing/pointer.js'
import { locationOf } from '../../src/models/files/location.js'
import { openRepository } from '../../src/models/files/open.js'
import { loadCore } from '../../src/models/load.js'

export const NANO = new URL('../../models/nano/', import.meta.url)
export const NANO_CONTEXT = 2048

/** The decode loop of nano; `points` gives the model that points what is put in its place, without it nothing points. */
export async function openNano(device: Device, points?: (model: PointingModel['model']) => PointingModel['model']) {
  const signal = new AbortController().signal
  const repository = await openRepository(locationOf(NANO.pathname), { report: () => {}, signal })
  const text = new ChatText(repository.text)
  const sizes = { contextLength: NANO_CONTEXT, cacheTokens: 8192, maxBatch: 8, tokens: text.tokenizer.size }
  const core = await loadCore(device, repository.weights, sizes)
  const { model, ...rest } = core.pointing!
  const pointer = points && new Pointer({ ...rest, model: points(model) }, text)
  return { loop: new DecodeLoop(core, text, { pointer }), vocabulary: text.vocabulary }
}
