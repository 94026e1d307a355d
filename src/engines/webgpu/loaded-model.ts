import { V1Error } from '../../contract/index.js'
import type { Device } from '../../device/index.js'
import {
  ChatText,
  DecodeLoop,
  DraftModel,
  Encoder,
  Pointer,
  type TextFiles,
  Tokenizer,
  VERDICTS,
} from '../../generate/index.js'
import { learnVocabulary } from '../../grammar/index.js'
import {
  Core,
  type EncoderLoadPlan,
  isRemote,
  type LoadOptions,
  type LoadPlan,
  type LoadReport,
  loadEncoderPlanned,
  loadPlanned,
  makesVectors,
  planEncoderLoad,
  planModel,
  understood,
  type VectorCore,
  type WeightOutline,
} from '../../models/index.js'
import type { CacheType } from '../../platform/index.js'
import { type CacheTrialOptions, type CostVerdict, cacheTrial } from './cache-choice.js'
import type { Draft } from './draft.js'
import { type MemoryParts, memoryLine, memoryParts } from './memory-parts.js'
import type { OfferedModel, WebGpuOptions } from './options.js'
import type { OpenedRepository } from './surroundings.js'

/** On a GPU a text runs ahead of what was read back; it need not come to a stand for as long as nothing else asks. */
const STEPS_AHEAD = 128

/** A model on the device, ready to answer. */
export interface LoadedModel {
  readonly id: string
  readonly runner: DecodeLoop | Encoder
  readonly device: Device
  readonly contextLength: number
  readonly fingerprint: string
  /** Memory that it takes once its cache is full: of the device, and of the host beside it. */
  readonly bytes: number
  /** As planned. */
  readonly parts: MemoryParts
  /** How it keeps keys and values, and why where that was for it to say. Absent: it keeps none. */
  readonly cacheType?: { readonly type: CacheType; readonly why?: string }
  /** What keys and values have come to use of it by now. Absent: it keeps none. */
  readonly cacheUse?: Core['cacheUse']
}

export interface LoadSettings {
  readonly plan: LoadPlan | EncoderLoadPlan
  /** By `textSideOf`. */
  readonly text: ChatText | Tokenizer
  readonly report: LoadReport
  readonly signal: AbortSignal
  readonly drafts?: WebGpuOptions['drafts']
  /** What guesses for it. */
  readonly draft?: Draft | undefined
  /** Of caches in 8 bits: what was found out before. */
  readonly costs: Pick<CacheTrialOptions, 'surroundings' | 'known'>
  readonly onReleased: () => void
}

/**
 * What is known of the model before its weights are downloaded; throws where it cannot be run here, or not `beside` so many
 * bytes of its draft model. `draftHead`: a head that guesses is loaded where the weights have one.
 */
export function planLoad(
  { id, location, contextLength, cacheTokens, cacheType, quantize }: OfferedModel,
  weights: WeightOutline,
  device: Device,
  maxBatch: number | undefined,
  { beside = 0, draftHead = false }: { readonly beside?: number | undefined; readonly draftHead?: boolean } = {},
): LoadPlan | EncoderLoadPlan {
  const options = {
    name: id,
    ...(maxBatch !== undefined && { maxBatch }),
    ...(contextLength !== undefined && { contextLength }),
    ...(cacheTokens !== undefined && { cacheTokens }),
    // What a model has said of its cache stays beside its download; elsewhere it would be asked in each process.
    ...(cacheType !== undefined ? { cacheType } : { choosesCache: isRemote(location) }),
    ...(quantize !== undefined && { quantize }),
    beside,
  }
  if (makesVectors(weights, id)) return understood(id, () => planEncoderLoad(weights, device, options))
  return understood(id, () => planModel(weights, device, { ...options, draftHead }))
}

export async function loadModel(
  model: OfferedModel,
  repository: OpenedRepository,
  device: Device,
  { plan: planned, text, report, signal, drafts, draft, costs, onReleased }: LoadSettings,
): Promise<LoadedModel> {
  const { id } = model
  const before = device.memory.bytes
  const bytesTotal = planned.size.bytes.total
  const partsOf = (plan: LoadSettings['plan']) => ({
    ...memoryParts(plan),
    ...(draft && { draft: draft.plan.size.bytes.total }),
  })
  const none = { bytesLoaded: 0, bytesTotal, filesLoaded: 0, filesTotal: 1 }
  report({ phase: 'upload', ...none, message: `memory: ${memoryLine(partsOf(planned))}` })
  const unused = 'tensors' in planned ? planned.tensors.draftHeadUnused : undefined
  if (unused !== undefined) report({ phase: 'upload', ...none, message: `multi-token head not used: ${unused}` })
  let choice: CostVerdict | undefined
  const onChoice = (made: CostVerdict) => {
    choice = made
    const message = `keys and values in ${made.isPacked ? '8 bits' : 'f16'}: ${made.why}`
    report({ phase: 'upload', ...none, bytesLoaded: bytesTotal, message })
  }
  const options: LoadOptions = {
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
  }
  const core =
    'task' in planned
      ? await encoderOf(id, repository, text as Tokenizer, device, planned, options)
      : await chatOf(repository, text as ChatText, device, planned, options, {
          ...{ drafts, draft },
          trialOptions: { model, ...costs, signal, onChoice },
        })
  await compile(core.model, report, bytesTotal)
  if (core.small) await core.small.prepare()
  const { contextLength, fingerprint } = core.model
  // What was left open is known by now.
  const plan = choice?.isPacked && 'packed' in planned ? { ...planned, size: planned.packed! } : planned
  const cacheType = 'cacheType' in plan.size ? plan.size.cacheType : undefined
  const parts = partsOf(plan)
  const cores = [core.model, core.small].filter((one): one is Core => one instanceof Core)
  const cacheUse = () => {
    const all = cores.map((one) => one.cacheUse)
    return { used: all.reduce((sum, { used }) => sum + used, 0), open: all.reduce((sum, { open }) => sum + open, 0) }
  }
  const bytes = Math.max(0, device.memory.bytes - before) + cacheUse().open + (parts.host ?? 0)
  return {
    ...{ id, runner: core.runner(), device, contextLength, fingerprint, bytes, parts },
    ...(cacheType && { cacheType: { type: cacheType, ...(choice && { why: choice.why }) } }),
    get cacheUse() {
      return cores.length > 0 ? cacheUse() : undefined
    },
  }
}

/** What its files say about text. */
export const chatTextOf = (id: string, files: TextFiles): ChatText => understood(id, () => new ChatText(files))

/** The same of a model that says no words. */
export const tokenizerOf = (id: string, { tokenizer, tokenizerConfig }: TextFiles): Tokenizer =>
  understood(id, () => new Tokenizer(tokenizer, tokenizerConfig))

/** What a model's files say about text. It takes no device: it is made while one opens. */
export function textSideOf(id: string, weights: WeightOutline, files: TextFiles): ChatText | Tokenizer {
  if (makesVectors(weights, id)) return tokenizerOf(id, files)
  const text = chatTextOf(id, files)
  // Most of a second for a large tokenizer: better now than in the first request for JSON.
  if (weights.rowLength === undefined) learnVocabulary(text.vocabulary)
  return text
}

async function chatOf(
  { weights }: OpenedRepository,
  text: ChatText,
  device: Device,
  plan: LoadPlan,
  options: LoadOptions,
  {
    drafts,
    draft,
    trialOptions,
  }: Pick<LoadSettings, 'drafts' | 'draft'> & { readonly trialOptions: Omit<CacheTrialOptions, 'plan' | 'tokenizer'> },
) {
  const { tokenizer } = text
  const tokens = tokenizer.size
  const trial = plan.packed && cacheTrial({ ...trialOptions, plan, tokenizer })
  const model = await loadPlanned(device, weights, plan, { tokens, ...options, ...(trial && { trial }) })
  const small = draft && (await smallOf(draft, device, tokens, options.signal, model))
  const pointer = model.pointing && new Pointer(model.pointing, text)
  const runner = () => {
    const stepsAhead = device.info.kind === 'webgpu' ? STEPS_AHEAD : 1
    return new DecodeLoop(model, text, {
      stepsAhead,
      ...(drafts && { drafts }),
      ...(pointer && { pointer }),
      ...(small && { draftModel: new DraftModel(small) }),
    })
  }
  return { model, small, runner }
}

/** Of the tokens that it may guess the large model knows each. Where it cannot be loaded nothing stays of either. */
async function smallOf(
  { repository, plan }: Draft,
  device: Device,
  tokens: number,
  signal: AbortSignal | undefined,
  large: Core,
): Promise<Core> {
  try {
    return await loadPlanned(device, repository.weights, plan, { tokens, ...(signal && { signal }) })
  } catch (error) {
    await large.close()
    throw error
  }
}

export const encoderWith = (id: string, ...parts: ConstructorParameters<typeof Encoder>): Encoder =>
  understood(id, () => new Encoder(...parts))

async function encoderOf(
  id: string,
  { weights }: OpenedRepository,
  tokenizer: Tokenizer,
  device: Device,
  plan: EncoderLoadPlan,
  options: LoadOptions,
) {
  const [yes, no] = VERDICTS.map((word) => tokenizer.idOf(word))
  const words = yes !== undefined && no !== undefined ? ([yes, no] as const) : undefined
  if (plan.judges && !words) throw new V1Error(500, 'The model has no tokens for yes and no.', { code: 'model_files' })
  const model = await loadEncoderPlanned(device, weights, plan, { ...options, ...(words && { words }) })
  try {
    const encoder = encoderWith(id, model, tokenizer, plan)
    return { model, small: undefined, runner: () => encoder }
  } catch (error) {
    await model.close()
    throw error
  }
}

/** The first answer should not wait for its kernels. */
async function compile(core: Core | VectorCore, report: LoadReport, bytes: number): Promise<void> {
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
