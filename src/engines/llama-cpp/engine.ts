import {
  type EmbedCall,
  type Embeddings,
  type Engine,
  type ModelInfo,
  modelCannot,
  modelNotFound,
  V1Error,
} from '../../contract/index.js'
import { assertDraftMode, DECODES, DecodeLoop, EMBEDS, Encoder } from '../../generate/index.js'
import {
  type HeadCheck,
  idOf,
  isCopy,
  type LoadReport,
  locationOf,
  type ModelLocation,
  purposeOf,
  REPOSITORY_ID,
} from '../../models/index.js'
import { assertOptions, byId } from '../../platform/index.js'
import { assertDraftName } from '../drafts.js'
import { type LoadContext, ModelSet, ModelSetEngine } from '../model-set.js'
import { openDraftFile } from './draft.js'
import type { Llama, LlamaCppLibrary } from './library.js'
import { type DraftFile, type LoadedLlamaCpp, loadLlamaCpp, type OpenedFile } from './load.js'
import {
  LLAMA_CPP_MODEL_OPTIONS,
  LLAMA_CPP_OPTIONS,
  type LlamaCppModelOptions,
  type LlamaCppOptions,
} from './options.js'
import { openLlama } from './shared.js'

/** What the engine takes from outside. */
export interface LlamaCppSurroundings {
  loadLibrary(): Promise<LlamaCppLibrary>
  /** `check` is asked before weights are downloaded, and may refuse them. */
  openFile(place: ModelLocation, report: LoadReport, signal: AbortSignal, check: HeadCheck): Promise<OpenedFile>
  /** What its first bytes say that it is for. Absent: that is known once it is loaded. */
  describe?(place: ModelLocation, signal: AbortSignal): Promise<OpenedFile['about']>
  /** Deletes what was downloaded. */
  forget?(place: ModelLocation): Promise<void>
}

interface OfferedLlamaCpp extends LlamaCppModelOptions {
  readonly location: ModelLocation
}

interface Opened {
  readonly llama: Llama
  readonly close: () => Promise<void>
  readonly device: { readonly device: string; readonly device_name: string }
}

/** Of what llama.cpp says during a load, its first words, which name the fault. */
const REMEMBERED = 20

/** The engine apart from where the library and the files come from. */
export class LlamaCppEngine extends ModelSetEngine<OfferedLlamaCpp, LoadedLlamaCpp> implements Engine {
  readonly #options: LlamaCppOptions
  readonly #surroundings: LlamaCppSurroundings
  readonly #offered: ReadonlyMap<string, OfferedLlamaCpp>
  protected readonly set: ModelSet<OfferedLlamaCpp, LoadedLlamaCpp>
  readonly #log: (message: string) => void
  /** What is known of models that are not loaded. */
  readonly #makesVectors = new Map<string, boolean>()
  #opening: Promise<Opened> | undefined
  #opened: Opened | undefined
  #complaints: string[] = []

  constructor(options: LlamaCppOptions, surroundings: LlamaCppSurroundings) {
    super()
    assertOptions('llamaCpp', options, LLAMA_CPP_OPTIONS)
    if (!Array.isArray(options?.models)) {
      throw new TypeError(
        "llamaCpp: 'models' must be a list of GGUF files, as in llamaCpp({ models: ['./model.gguf'] }).",
      )
    }
    assertDraftMode('llamaCpp', options.drafts)
    const { device, maxBatch } = options
    if (device !== undefined && device !== 'auto' && device !== 'cpu')
      throw new TypeError(`llamaCpp: 'device' can be 'auto' or 'cpu'; this one is "${device as string}".`)
    if (maxBatch !== undefined && !(Number.isInteger(maxBatch) && maxBatch > 0))
      throw new TypeError(`llamaCpp: 'maxBatch' must be a whole number above 0; this one is "${maxBatch}".`)
    this.#options = options
    this.#surroundings = surroundings
    this.#log = options.log ?? ((message) => console.info(message))
    this.#offered = byId('llamaCpp', options.models.map(offered))
    this.set = new ModelSet({ load: (model, context) => this.#load(model, context) })
  }

  get models(): readonly ModelInfo[] {
    return [...this.#offered.values()].map((model) => this.#infoOf(model))
  }

  async embed(call: EmbedCall): Promise<Embeddings> {
    const model = this.find(call.model)
    await this.learn(call.model, call.signal)
    // Before its weights are read.
    if (this.#makesVectors.get(call.model) === false) throw modelCannot(call.model, 'cannot make embeddings')
    return this.set.ask(model, call.signal, ({ runner }) => {
      if (runner instanceof Encoder) return runner.embed(call)
      throw modelCannot(call.model, 'cannot make embeddings')
    })
  }

  async learn(id: string, signal: AbortSignal): Promise<void> {
    const { location } = this.find(id)
    if (this.#makesVectors.has(id) || this.set.find(id) || !this.#surroundings.describe) return
    const about = await this.#surroundings.describe(location, signal)
    this.#makesVectors.set(id, purposeOf(about, id) === 'embed')
  }

  async unload(id: string): Promise<void> {
    await this.set.unload(this.find(id).id)
  }

  async remove(id: string): Promise<void> {
    const { location } = this.find(id)
    if (!isCopy(location)) {
      const message = `The model '${id}' was not downloaded by local-v1 and is not deleted.`
      throw new V1Error(409, message, { param: 'model', code: 'not_downloaded' })
    }
    await this.set.remove(id, () => this.#surroundings.forget?.(location))
  }

  override async close(): Promise<void> {
    await super.close()
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    this.#opened = undefined
    await opened?.close()
  }

  #infoOf({ id, contextLength }: OfferedLlamaCpp): ModelInfo {
    const loaded = this.set.find(id)
    const context = loaded?.contextLength ?? contextLength
    return {
      id,
      ownedBy: id.slice(0, id.indexOf('/')),
      capabilities: loaded?.runner.capabilities ?? (this.#makesVectors.get(id) ? EMBEDS : DECODES),
      ...(context !== undefined && { contextLength: context }),
      ...(loaded && { fingerprint: loaded.fingerprint }),
      metadata: {
        engine: 'llama.cpp',
        loaded: loaded !== undefined && loaded.runner.failure === undefined,
        ...(loaded?.runner instanceof DecodeLoop && loaded.runner.metadata),
        ...this.#opened?.device,
        ...(loaded && { memory_bytes: loaded.bytes }),
        ...(loaded?.draftBytes !== undefined && { draft_bytes: loaded.draftBytes }),
      },
    }
  }

  protected find(id: string): OfferedLlamaCpp {
    const model = this.#offered.get(id)
    if (model) return model
    throw modelNotFound(id, this.models)
  }

  async #load(model: OfferedLlamaCpp, { report, signal, makeRoom }: LoadContext): Promise<LoadedLlamaCpp> {
    const { llama } = await this.#open()
    const openFile = (place: ModelLocation, check: HeadCheck) =>
      this.#surroundings.openFile(place, report, signal, check)
    let draft: DraftFile | undefined
    const file = await openFile(model.location, async (head) => {
      if (model.draft === undefined || this.#options.drafts === 'never') return
      draft = await openDraftFile(model.draft, { id: model.id, head }, openFile)
    })
    this.#complaints = []
    const complaints = () => this.#complaints
    const load = () => loadLlamaCpp(model, { llama, file, draft, settings: this.#options, report, signal, complaints })
    return load().catch(async (error: unknown) => {
      if (!V1Error.is(error) || error.code !== 'device_too_small' || [...this.set.loaded].length === 0) throw error
      // What others leave may be enough.
      await makeRoom(() => false)
      return load()
    })
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#start().catch((cause: unknown) => {
      // The next request tries again.
      this.#opening = undefined
      throw missing(cause)
    })
    return this.#opening
  }

  async #start(): Promise<Opened> {
    const library = await this.#surroundings.loadLibrary()
    const { llama, close } = await openLlama(library, this.#options, (message) => this.#hear(message))
    const on = llama.gpu === false ? 'cpu' : llama.gpu
    const names = llama.gpu === false ? [] : await llama.getGpuDeviceNames().catch(() => [])
    const name = `llama.cpp ${llama.llamaCppRelease.release}${names.length > 0 ? `, ${names.join(', ')}` : ''}`
    this.#log(`local-v1 runs on ${on} (${name}).`)
    this.#opened = { llama, close, device: { device: on, device_name: name } }
    return this.#opened
  }

  #hear(message: string): void {
    this.#complaints = [...this.#complaints, message].slice(0, REMEMBERED)
    this.#log(`llama.cpp: ${message}`)
  }
}

function offered(model: string | LlamaCppModelOptions): OfferedLlamaCpp {
  const options = typeof model === 'string' ? { id: idOf(model), from: model } : model
  assertOptions('llamaCpp', options, LLAMA_CPP_MODEL_OPTIONS)
  if (!REPOSITORY_ID.test(options.id))
    throw new TypeError(`A model's id has the form "<namespace>/<name>"; this one is "${options.id}".`)
  assertDraftName(options.id, options.draft)
  return { ...options, location: locationOf(options.from) }
}

function missing(cause: unknown): V1Error {
  if (V1Error.is(cause)) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  const absent = /Cannot find (package|module)|ERR_MODULE_NOT_FOUND|Module not found/.test(
    `${(cause as { code?: unknown } | null)?.code ?? ''} ${why}`,
  )
  const fault = absent ? 'is not installed: npm install node-llama-cpp' : `could not be started: ${why}`
  return new V1Error(503, `node-llama-cpp ${fault}`, { code: 'engine_missing', retryAfter: 5, cause })
}
