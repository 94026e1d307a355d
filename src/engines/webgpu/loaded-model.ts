import { ChatText } from '../../decode/chat-text.js'
import { Decoder } from '../../decode/decoder.js'
import type { Core } from './core.js'
import type { Device } from './device/device.js'
import { readDecoderConfig } from './model/config.js'
import { loadCore } from './model/load.js'
import { sizeOf } from './model/size.js'
import type { OfferedModel } from './options.js'
import type { OpenedRepository, Report } from './surroundings.js'

const STEPS_AHEAD = 4

/** A model on the device, ready to answer. */
export interface LoadedModel {
  readonly id: string
  readonly decoder: Decoder
  readonly device: Device
  readonly contextLength: number
  readonly fingerprint: string
  /** Device memory it takes. */
  readonly bytes: number
}

export interface LoadSettings {
  readonly maxBatch: number | undefined
  readonly report: Report
  readonly signal: AbortSignal
}

/** What the model will take at least, known before anything is uploaded. */
export function bytesNeeded(repository: OpenedRepository): number {
  const config = readDecoderConfig(repository.weights.chatConfig)
  const { weightBytes, cacheBytesPerToken } = sizeOf(config, repository.weights, 'f16')
  return weightBytes + Math.min(512 * 2 ** 20, cacheBytesPerToken * config.contextLength)
}

export async function loadModel(
  model: OfferedModel,
  repository: OpenedRepository,
  device: Device,
  { maxBatch, report, signal }: LoadSettings,
): Promise<LoadedModel> {
  const text = new ChatText(repository.text)
  const before = device.memory.bytes
  const bytesTotal = bytesNeeded(repository)
  const core: Core = await loadCore(device, repository.weights, {
    name: model.id,
    tokens: text.tokenizer.size,
    signal,
    ...(maxBatch !== undefined && { maxBatch }),
    ...(model.contextLength !== undefined && { contextLength: model.contextLength }),
    ...(model.cacheTokens !== undefined && { cacheTokens: model.cacheTokens }),
    onProgress: (layers, of) =>
      report({
        phase: 'upload',
        bytesLoaded: Math.round((bytesTotal * layers) / of),
        bytesTotal,
        filesLoaded: layers,
        filesTotal: of,
        message: `layer ${layers} of ${of}`,
      }),
  })
  const { contextLength, fingerprint } = core
  // Most of a second for a large tokenizer: better now than in the first request for JSON.
  void text.vocabulary
  const bytes = Math.max(0, device.memory.bytes - before)
  const decoder = new Decoder(core, text, { stepsAhead: device.info.kind === 'webgpu' ? STEPS_AHEAD : 1 })
  return { id: model.id, decoder, device, contextLength, fingerprint, bytes }
}
