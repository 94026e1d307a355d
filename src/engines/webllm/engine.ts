import { type Engine, type ModelInfo, modelNotFound, V1Error } from '../../contract/index.js'
import { DECODES, type TextFiles } from '../../generate/index.js'
import type { LoadReport } from '../../models/index.js'
import { type LoadContext, ModelSet, ModelSetEngine } from '../model-set.js'
import { Catalog } from './catalog.js'
import { deviceLost } from './forward-model.js'
import { type GpuFacts, memoryOf, whyNot } from './gpu-probe.js'
import type { ModelRecord, WebLlmLibrary } from './library.js'
import { type LoadedWebLlm, loadWebLlm } from './load.js'
import type { WebLlmOptions } from './options.js'
import { libraryAddress, type Offered, weightsAddress } from './records.js'

const BUDGET = 8 * 2 ** 30

/** What the engine takes from outside. */
export interface WebLlmSurroundings {
  loadLibrary(): Promise<WebLlmLibrary>
  probeGpu(): Promise<GpuFacts | undefined>
  /** `address` ends with a slash. */
  readText(address: string, report: LoadReport, signal: AbortSignal): Promise<TextFiles>
  /** Deletes what was downloaded below `weights`, which ends with a slash, and of `library`. */
  forget?(weights: string, library: string): Promise<void>
}

/** The engine apart from where the library, the device and the files come from. */
export class WebLlmEngine extends ModelSetEngine<Offered, LoadedWebLlm> implements Engine {
  /** Settles once the list of models and the device are known, as far as they can be. Never rejects. */
  readonly ready: Promise<void>
  readonly #options: WebLlmOptions
  readonly #surroundings: WebLlmSurroundings
  readonly #catalog: Catalog
  protected readonly set: ModelSet<Offered, LoadedWebLlm>
  readonly #budget: number
  /** Undefined until it is known; null: there is no GPU. */
  #gpu: GpuFacts | null | undefined

  constructor(options: WebLlmOptions, surroundings: WebLlmSurroundings) {
    super()
    this.#options = options
    this.#surroundings = surroundings
    this.#budget = options.memoryBudget ?? BUDGET
    this.#catalog = new Catalog(options, () => surroundings.loadLibrary())
    this.set = new ModelSet({ load: (model, context) => this.#load(model, context), lost: deviceLost })
    this.ready = this.#lookAround()
  }

  get models(): readonly ModelInfo[] {
    const listed = this.#catalog.listed.map(({ id, record }) => this.#info(id, record))
    if (this.#options.unavailable !== 'hide') return listed
    return listed.filter(({ metadata }) => metadata?.unavailable === undefined)
  }

  async unload(id: string): Promise<void> {
    await this.set.unload(id)
  }

  async remove(id: string): Promise<void> {
    const { record } = await this.#found(id)
    const weights = weightsAddress(record.model)
    if (weights.startsWith('file:')) {
      const message = `The model '${id}' is in a folder of this machine: it was not downloaded and is not deleted.`
      throw new V1Error(409, message, { param: 'model', code: 'not_downloaded' })
    }
    const library = libraryAddress(record.model_lib)
    await this.set.remove(id, () => this.#surroundings.forget?.(weights, library))
  }

  #info(id: string, record: ModelRecord | undefined): ModelInfo {
    const loaded = this.set.find(id)
    const context = loaded?.contextLength ?? record?.overrides?.context_window_size
    const metadata = () => this.#metadata(record, loaded)
    return {
      id,
      ownedBy: id.slice(0, id.indexOf('/')),
      capabilities: loaded?.runner.capabilities ?? DECODES,
      ...(context !== undefined && context > 0 && { contextLength: context }),
      // Made when it is read: each request looks for its model among more than a hundred.
      get metadata() {
        return metadata()
      },
    }
  }

  #metadata(record: ModelRecord | undefined, loaded: LoadedWebLlm | undefined): NonNullable<ModelInfo['metadata']> {
    const unavailable = record && this.#whyNot(record)
    const memory = loaded?.bytes ?? (record && memoryOf(record))
    return {
      engine: 'webllm',
      ...(this.#gpu && { device: 'webgpu', ...(this.#gpu.name && { device_name: this.#gpu.name }) }),
      loaded: loaded !== undefined && loaded.runner.failure === undefined,
      ...loaded?.runner.metadata,
      ...(memory && { memory_bytes: memory }),
      ...(unavailable !== undefined && { unavailable }),
    }
  }

  #whyNot(record: ModelRecord): string | undefined {
    return this.#gpu === undefined ? undefined : whyNot(record, this.#gpu ?? undefined, this.#budget)
  }

  async #found(id: string): Promise<Offered> {
    const model = await this.#catalog.find(id)
    if (model !== undefined) return model
    throw modelNotFound(id, this.models)
  }

  /** Of those that this device can run. */
  protected async find(id: string): Promise<Offered> {
    const model = await this.#found(id)
    // A GPU may have come since.
    if (this.#gpu === null || this.#gpu === undefined) await this.#lookAtGpu()
    const why = this.#whyNot(model.record)
    if (why === undefined) return model
    throw new V1Error(503, `The model '${id}' cannot run on this device. ${why}`, {
      param: 'model',
      code: 'model_unavailable',
      headers: { 'x-should-retry': 'false' },
    })
  }

  async #lookAround(): Promise<void> {
    const log = this.#options.log ?? ((message: string) => console.warn(message))
    await Promise.all([
      this.#catalog.open().catch((error) => log(`local-v1: WebLLM's models cannot be listed. ${String(error)}`)),
      this.#lookAtGpu().catch((error) => log(`local-v1: the GPU cannot be examined. ${String(error)}`)),
    ])
  }

  async #lookAtGpu(): Promise<void> {
    this.#gpu = (await this.#surroundings.probeGpu()) ?? null
  }

  async #load(model: Offered, { report, signal, makeRoom }: LoadContext): Promise<LoadedWebLlm> {
    const taken = () => [...this.set.loaded].reduce((sum, { bytes }) => sum + bytes, 0)
    await makeRoom(() => taken() + memoryOf(model.record) <= this.#budget)
    const { library, appConfig } = await this.#catalog.library()
    const { model: weights, model_lib } = model.record
    const record = { ...model.record, model: weightsAddress(weights), model_lib: libraryAddress(model_lib) }
    const files = await this.#surroundings.readText(record.model, report, signal)
    const engineConfig = { ...this.#options.engineConfig, appConfig: { ...appConfig, model_list: [record] } }
    return loadWebLlm({ ...model, record }, { library, engineConfig, files, report, signal })
  }
}
