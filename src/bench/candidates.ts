/** What local-v1 itself can be asked to measure: its own core, on any device, over any model. */

import { assertRevectorize, type Device } from '../device/index.js'
import {
  chooseDevice,
  type DevicePreference,
  type ModelOptions,
  type OpenedRepository,
  offeredModel,
  WebGpuEngine,
} from '../engines/index.js'
import { ChatText } from '../generate/index.js'
import { openRepository } from '../models/index.js'
import { openEngineSubject } from './engine-subject.js'
import { type ExtractionUnderTest, openExtraction } from './extraction-subject.js'
import { assertMadeUp, isMadeUp, madeUpVocabulary, openMadeUp } from './made-up.js'
import type { Candidate, Subject } from './subject.js'

export interface CoreCandidateOptions {
  /** A name that tells it from the others of the run. */
  readonly name: string
  readonly model: string | ModelOptions
  readonly device: DevicePreference
  readonly threads?: number
  /** Kernels in 256 bits: see `WebGpuOptions`. */
  readonly revectorize?: boolean
  readonly cache?: string | false
  /** Answers side by side. @default as users have it */
  readonly maxBatch?: number
  /** Whose words made-up weights extract in. @default they do not extract */
  readonly words?: ModelOptions | undefined
  /** @default what `device` names */
  readonly openDevice?: () => Promise<Device>
}

export interface CoreCandidatesOptions {
  readonly models: readonly (string | ModelOptions)[]
  readonly devices: readonly DevicePreference[]
  readonly threads?: number
  readonly revectorize?: boolean
  readonly cache?: string | false
  readonly words?: ModelOptions | undefined
}

/** Every model on every device. Throws a `TypeError` where there is no such model. */
export function coreCandidates({ models, devices, ...options }: CoreCandidatesOptions): Candidate[] {
  const candidateName = (model: string | ModelOptions, device: string) =>
    [...(models.length > 1 ? [shortName(model)] : []), ...(devices.length > 1 ? [device] : [])].join(' ') || 'local-v1'
  const names = new Set<string>()
  /** Readings are kept by name: what is asked for twice gets two. */
  const unique = (name: string, times = 1): string => {
    const numbered = times === 1 ? name : `${name} ${times}`
    if (names.has(numbered)) return unique(name, times + 1)
    names.add(numbered)
    return numbered
  }
  return models.flatMap((model) =>
    devices.map((device) => coreCandidate({ name: unique(candidateName(model, device)), model, device, ...options })),
  )
}

/** Without its namespace. */
function shortName(model: string | ModelOptions): string {
  const { id } = offeredModel(model)
  return id.slice(id.indexOf('/') + 1)
}

/** Throws a `TypeError` where there is no such model, or no such device. */
export function coreCandidate(options: CoreCandidateOptions): Candidate {
  const { id } = offeredModel(options.model)
  assertRevectorize('coreCandidate', options.revectorize)
  if (isMadeUp(id)) assertMadeUp(id)
  return { name: options.name, open: () => open(options) }
}

async function open(options: CoreCandidateOptions): Promise<Subject> {
  const { model, device, cache, words, maxBatch, openDevice = () => chooseDevice(device, options) } = options
  const id = typeof model === 'string' ? model : model.id
  let repository: OpenedRepository | undefined
  const engine = new WebGpuEngine(
    { models: [model], log: () => {}, ...(maxBatch && { maxBatch }) },
    {
      openDevice,
      openRepository: async (offered, report, signal, check) => {
        repository = isMadeUp(offered.id)
          ? openMadeUp(offered.id)
          : await openRepository(offered.location, { report, signal, cache, check })
        return repository
      },
    },
  )
  const [offered] = engine.models
  try {
    return await openEngineSubject(engine, offered!.id, {
      name: 'webgpu',
      notes: isMadeUp(id) ? ['made-up weights and vocabulary of that shape, one token per word of a prompt'] : [],
      extraction:
        isMadeUp(id) && !(words && madeUpVocabulary(id) >= WORDS)
          ? undefined
          : () => extractionOf(model, words, openDevice, cache),
      // A length that is asked for is a length that is written: see `Ask`.
      ends: () => [...new ChatText(repository!.text).ends],
    })
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** As many as `words` may have. */
const WORDS = 4096

/**
 * With words of another model where its own are made up, along which it is then led. What the engine has opened is not
 * asked again: where nothing is stored, its weights are let go of once they are loaded.
 */
async function extractionOf(
  model: string | ModelOptions,
  words: ModelOptions | undefined,
  openDevice: () => Promise<Device>,
  cache?: string | false,
): Promise<ExtractionUnderTest> {
  const opened = (of: string | ModelOptions) =>
    openRepository(offeredModel(of).location, { report: () => {}, signal: new AbortController().signal, cache })
  const id = typeof model === 'string' ? model : model.id
  if (!isMadeUp(id)) {
    const { weights, text } = await opened(model)
    return openExtraction({ openDevice, weights, text, led: false })
  }
  const { weights, text } = openMadeUp(id)
  return openExtraction({ openDevice, weights, text: words ? (await opened(words)).text : text, led: true })
}
