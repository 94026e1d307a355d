import { ChatText } from '../../decode/chat-text.js'
import { DecodeLoop } from '../../decode/decode-loop.js'
import type { LoadReport } from '../../repository/progress.js'
import type { WeightOutline } from '../../repository/source.js'
import type { Device } from './contract.js'
import type { Core } from './core.js'
import { loadPlanned } from './model/load.js'
import { type LoadPlan, planModel } from './model/plan-model.js'
import type { OfferedModel } from './options.js'
import type { OpenedRepository } from './surroundings.js'

const STEPS_AHEAD = 4

/** A model on the device, ready to answer. */
export interface LoadedModel {
  readonly id: string
  readonly decoder: DecodeLoop
  readonly device: Device
  readonly contextLength: number
  readonly fingerprint: string
  /** Device memory it takes. */
  readonly bytes: number
}

export interface LoadSettings {
  readonly plan: LoadPlan
  readonly report: LoadReport
  readonly signal: AbortSignal
  readonly onReleased: () => void
}

/** What is known of the model before its weights are downloaded; throws where it cannot be run here. */
export function planLoad(
  { id, contextLength, cacheTokens, quantize }: OfferedModel,
  weights: WeightOutline,
  device: Device,
  maxBatch: number | undefined,
): LoadPlan {
  return planModel(weights, device, {
    name: id,
    ...(maxBatch !== undefined && { maxBatch }),
    ...(contextLength !== undefined && { contextLength }),
    ...(cacheTokens !== undefined && { cacheTokens }),
    ...(quantize !== undefined && { quantize }),
  })
}

export async function loadModel(
  { id }: OfferedModel,
  repository: OpenedRepository,
  device: Device,
  { plan, report, signal, onReleased }: LoadSettings,
): Promise<LoadedModel> {
  const text = new ChatText(repository.text)
  const before = device.memory.bytes
  const bytesTotal = plan.size.bytes.total
  const core: Core = await loadPlanned(device, repository.weights, plan, {
    tokens: text.tokenizer.size,
    signal,
    onReleased,
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
  await compile(core, report, bytesTotal)
  const { contextLength, fingerprint } = core
  // Most of a second for a large tokenizer: better now than in the first request for JSON.
  void text.vocabulary
  const bytes = Math.max(0, device.memory.bytes - before)
  const decoder = new DecodeLoop(core, text, { stepsAhead: device.info.kind === 'webgpu' ? STEPS_AHEAD : 1 })
  return { id, decoder, device, contextLength, fingerprint, bytes }
}

/** The first answer should not wait for its kernels. */
async function compile(core: Core, report: LoadReport, bytes: number): Promise<void> {
  try {
    await core.prepare((done, of) =>
      report({
        phase: 'compile',
        bytesLoaded: bytes,
        bytesTotal: bytes,
        filesLoaded: done,
        filesTotal: of,
        message: `kernel ${done} of ${of}`,
      }),
    )
  } catch (error) {
    await core.close()
    throw error
  }
}
