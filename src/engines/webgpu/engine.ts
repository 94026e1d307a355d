import {
  type Capabilities,
  type Classified,
  type ClassifyCall,
  type DecideCall,
  type Decided,
  type EmbedCall,
  type Embeddings,
  type Engine,
  type LoadProgress,
  type ModelInfo,
  modelCannot,
  modelNotFound,
  type PointCall,
  type PointedText,
  type RankCall,
  type Ranking,
  V1Error,
} from '../../contract/index.js'
import type { DeviceInfo } from '../../device/index.js'
import { CLASSIFIES, calibrated, DECIDES, DECODES, DecodeLoop, EMBEDS, Encoder, RANKS } from '../../generate/index.js'
import { isCopy, isRemote, type ModelLocation, type Purpose, purposeOf } from '../../models/index.js'
import { byId, getOrMake } from '../../platform/index.js'
import { ModelSetEngine } from '../model-set.js'
import { DeviceModels } from './device-models.js'
import type { LoadedModel } from './loaded-model.js'
import { offeredModel } from './location.js'
import type { ModelOptions, OfferedModel, WebGpuOptions } from './options.js'
import type { KeptWeights, Surroundings } from './surroundings.js'

export type Metadata = NonNullable<ModelInfo['metadata']>

const CAPABILITIES: Readonly<Record<Purpose, Capabilities>> = {
  chat: DECODES,
  embed: EMBEDS,
  rank: RANKS,
  classify: CLASSIFIES,
  decide: DECIDES,
}
const GIB = 2 ** 30
/** `weights_bytes`, `cache_bytes` and so on. */
const partsOf = ({ parts }: LoadedModel): Metadata =>
  Object.fromEntries(Object.entries(parts).map(([part, bytes]) => [`${part}_bytes`, bytes]))
const cacheOf = ({ type, why }: NonNullable<LoadedModel['cacheType']>): Metadata => ({
  cache_type: type,
  ...(why !== undefined && { cache_type_reason: why }),
})
const NOTHING: KeptWeights = { bytes: 0, whole: false }

/** What nobody downloaded for us. */
const WHERE: Readonly<Partial<Record<ModelLocation['kind'], string>>> = {
  folder: 'in a folder of this machine',
  foreign: 'in the store of another program',
  files: 'in a file that was chosen',
}

/** Models come and go while it runs. */
export interface WebGpu extends Engine {
  /** Offers one model more, and downloads nothing. One of the same id that is offered already stays. */
  offer(model: string | ModelOptions): ModelInfo
  /** Unloads a model and offers it no more; what was downloaded for it stays. */
  withdraw(id: string): Promise<void>
}

/** The engine apart from where devices and weights come from. */
export class WebGpuEngine extends ModelSetEngine<OfferedModel, LoadedModel> implements WebGpu {
  readonly #offered: Map<string, OfferedModel>
  protected readonly set: DeviceModels
  readonly #surroundings: Surroundings
  /** What is on disk, by model; undefined until somebody looked. */
  readonly #kept = new Map<string, KeptWeights>()
  /** Why a model did not fit when it was last loaded. */
  readonly #refused = new Map<string, string>()
  /** What is known of models that are not loaded. */
  readonly #purposes = new Map<string, Purpose>()
  /** What is told of each while it is loaded, or is not. */
  readonly #infos = new WeakMap<OfferedModel | LoadedModel, ModelInfo>()
  /** Of the device that was opened last. */
  #device: DeviceInfo | undefined

  constructor(options: WebGpuOptions, surroundings: Surroundings) {
    super()
    if (!Array.isArray(options?.models)) {
      throw new TypeError("webgpu: 'models' must be a list of models, as in webgpu({ models: ['local-v1/nano'] }).")
    }
    this.#offered = byId('webgpu', options.models.map(offeredModel))
    const log = options.log ?? ((message: string) => console.info(message))
    this.#surroundings = surroundings
    this.set = new DeviceModels({
      surroundings,
      maxBatch: options.maxBatch,
      drafts: options.drafts,
      budget: ({ info }) => options.memoryBudget ?? (info.kind === 'cpu' ? 3 : 8) * GIB,
      onDevice: (device) => {
        const { kind, name, reason } = device.info
        if (this.#device?.name !== name) log(`local-v1 runs on ${kind} (${name}). ${reason}`)
        this.#device = device.info
      },
    })
  }

  get models(): readonly ModelInfo[] {
    return [...this.#offered.values()].map((model) => this.#infoOf(model))
  }

  offer(wanted: string | ModelOptions): ModelInfo {
    const model = offeredModel(wanted)
    const there = this.#offered.get(model.id)
    if (there === undefined) this.#offered.set(model.id, model)
    return this.#infoOf(there ?? model)
  }

  async withdraw(id: string): Promise<void> {
    const model = this.find(id)
    this.#offered.delete(id)
    for (const known of [this.#kept, this.#refused, this.#purposes]) known.delete(id)
    await this.set.unload(model.id)
  }

  /** Made once: each request looks for its model among all of them, several times. */
  #infoOf(model: OfferedModel): ModelInfo {
    const loaded = this.set.find(model.id)
    return getOrMake(this.#infos, loaded ?? model, () => this.#makeInfo(model, loaded))
  }

  #makeInfo(model: OfferedModel, loaded: LoadedModel | undefined): ModelInfo {
    const { id } = model
    const context = loaded?.contextLength ?? model.contextLength
    const capabilities = this.#capabilities(model, loaded)
    const metadata = () => this.#metadata(model)
    return {
      id,
      ownedBy: id.slice(0, id.indexOf('/')),
      ...(capabilities && { capabilities }),
      ...(context !== undefined && { contextLength: context }),
      ...(loaded && { fingerprint: loaded.fingerprint }),
      // Made when it is read: it changes, and lists alone show it.
      get metadata() {
        return metadata()
      },
    }
  }

  /** Undefined: of a model that was never looked into nothing is known. */
  #capabilities({ id, calibration }: OfferedModel, loaded: LoadedModel | undefined): Capabilities | undefined {
    const purpose = this.#purposes.get(id) ?? (this.#surroundings.describe ? undefined : 'chat')
    const own = loaded?.runner.capabilities ?? (purpose && CAPABILITIES[purpose])
    return own?.decisions && calibration ? { ...own, calibrated: true } : own
  }

  #metadata({ id, location, downloadBytes, memoryBytes }: OfferedModel): Metadata {
    const loaded = this.set.find(id)
    const info = loaded?.device.info ?? this.#device
    const memory = loaded?.bytes ?? memoryBytes
    const kept = this.#kept.get(id)
    const refused = this.#refused.get(id)
    return {
      loaded: loaded !== undefined,
      ...this.#surroundings.metadata,
      ...(loaded?.runner instanceof DecodeLoop && loaded.runner.metadata),
      ...(info && { device: info.kind, device_name: info.name, device_reason: info.reason }),
      ...(downloadBytes !== undefined && { download_bytes: downloadBytes }),
      ...(kept !== undefined && isCopy(location) && { kept: kept.whole, kept_bytes: kept.bytes }),
      ...(memory !== undefined && { memory_bytes: memory }),
      ...(loaded && partsOf(loaded)),
      ...(loaded?.cacheType && cacheOf(loaded.cacheType)),
      ...(loaded?.cacheUse && { cache_used_bytes: loaded.cacheUse.used }),
      ...(refused !== undefined && { does_not_fit: refused }),
    }
  }

  async embed(call: EmbedCall): Promise<Embeddings> {
    return this.#ask(call, 'embeddings', 'cannot make embeddings', (encoder) => encoder.embed(call))
  }

  async rank(call: RankCall): Promise<Ranking> {
    return this.#ask(call, 'rerank', 'cannot rank documents', (encoder) => encoder.rank(call))
  }

  async classify(call: ClassifyCall): Promise<Classified> {
    return this.#ask(call, 'classify', 'cannot classify texts', (encoder) => encoder.classify(call))
  }

  override async decide(call: DecideCall): Promise<Decided> {
    const temperature = call.calibrated ? this.find(call.model).calibration?.[call.order] : undefined
    if (temperature === undefined) return super.decide(call)
    return calibrated(await super.decide({ ...call, calibrated: false }), temperature)
  }

  async point(call: PointCall): Promise<PointedText | undefined> {
    return this.set.ask(this.find(call.model), call.signal, async ({ runner }) =>
      runner instanceof DecodeLoop ? runner.point(call) : undefined,
    )
  }

  /** Asks a model that can, whether or not it had said so before it was loaded. */
  async #ask<T>(
    { model: id, signal }: EmbedCall | RankCall | ClassifyCall,
    capability: 'embeddings' | 'rerank' | 'classify',
    not: string,
    action: (encoder: Encoder) => Promise<T>,
  ): Promise<T> {
    const model = this.find(id)
    await this.learn(id, signal)
    if (this.#purposes.get(id) === 'chat') throw modelCannot(id, not)
    return this.set.ask(model, signal, ({ runner }) => {
      if (runner instanceof Encoder && runner.capabilities[capability]) return action(runner)
      throw modelCannot(id, not)
    })
  }

  async learn(id: string, signal: AbortSignal): Promise<void> {
    const model = this.find(id)
    if (this.#purposes.has(id) || this.set.find(id) || !this.#surroundings.describe) return
    this.#purposes.set(id, purposeOf(await this.#surroundings.describe(model, signal), id))
    this.#infos.delete(model)
  }

  override async load(id: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    const model = this.find(id)
    try {
      await this.set.ready(model, signal, (progress) => {
        // What was seen of the disk before is no longer so: whoever lists it now looks anew.
        if (progress.phase === 'ready') this.#kept.delete(id)
        onProgress(progress)
      })
      this.#refused.delete(id)
    } catch (error) {
      if (V1Error.is(error) && error.code === 'device_too_small') this.#refused.set(id, error.message)
      throw error
    } finally {
      await this.#look(model)
    }
  }

  async unload(id: string): Promise<void> {
    await this.set.unload(this.find(id).id)
  }

  async remove(id: string): Promise<void> {
    const model = this.find(id)
    if (!isCopy(model.location)) {
      const message = `The model '${id}' is ${WHERE[model.location.kind]}: it was not downloaded and is not deleted.`
      throw new V1Error(409, message, { param: 'model', code: 'not_downloaded' })
    }
    await this.set.remove(id, () => this.#surroundings.forget?.(model))
    await this.#look(model)
  }

  async survey(): Promise<void> {
    const unknown = [...this.#offered.values()].filter(({ id }) => !this.#kept.has(id))
    await Promise.all(unknown.map((model) => this.#look(model)))
    await Promise.all([...this.#offered.values()].map((model) => this.#learnHere(model)))
  }

  /** Nothing is asked of a network for a list. */
  async #learnHere({ id, location }: OfferedModel): Promise<void> {
    if (isRemote(location) && !this.#kept.get(id)?.whole) return
    await this.learn(id, new AbortController().signal).catch(() => undefined)
  }

  /** A disk that cannot be read holds nothing for us; it is no reason to fail. */
  async #look(model: OfferedModel): Promise<void> {
    this.#kept.set(model.id, (await this.#surroundings.keptOf?.(model).catch(() => undefined)) ?? NOTHING)
  }

  protected find(id: string): OfferedModel {
    const model = this.#offered.get(id)
    if (model !== undefined) return model
    throw modelNotFound(id, this.models)
  }
}
