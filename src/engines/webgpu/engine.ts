import type { ChatCall, Engine, LoadProgress, ModelInfo, Part } from '../../engine.js'
import { V1Error } from '../../errors.js'
import type { Device } from './device/device.js'
import { offeredModel } from './location.js'
import { ModelSet } from './model-set.js'
import type { OfferedModel, WebGpuOptions } from './options.js'
import type { Surroundings } from './surroundings.js'

const GIB = 2 ** 30

/** The engine apart from where devices and weights come from. */
export class WebGpuEngine implements Engine {
  readonly #offered: ReadonlyMap<string, OfferedModel>
  readonly #set: ModelSet
  #device: Device | undefined

  constructor(options: WebGpuOptions, surroundings: Surroundings) {
    const offered = options.models.map(offeredModel)
    this.#offered = new Map(offered.map((model) => [model.id, model]))
    const log = options.log ?? ((message: string) => console.info(message))
    this.#set = new ModelSet({
      surroundings,
      maxBatch: options.maxBatch,
      budget: ({ info }) => options.memoryBudget ?? (info.kind === 'cpu' ? 3 : 8) * GIB,
      onDevice: (device) => {
        const { kind, name, reason } = device.info
        if (this.#device?.info.name !== name) log(`local-v1 runs on ${kind} (${name}). ${reason}`)
        this.#device = device
      },
    })
  }

  get models(): readonly ModelInfo[] {
    return [...this.#offered.values()].map(({ id, contextLength }) => {
      const loaded = this.#set.find(id)
      const info = (loaded?.device ?? this.#device)?.info
      const context = loaded?.contextLength ?? contextLength
      return {
        id,
        ownedBy: id.slice(0, id.indexOf('/')),
        ...(context !== undefined && { contextLength: context }),
        ...(loaded && { fingerprint: loaded.fingerprint }),
        metadata: {
          loaded: loaded !== undefined,
          ...(info && { device: info.kind, device_name: info.name, device_reason: info.reason }),
          ...(loaded && { memory_bytes: loaded.bytes }),
        },
      }
    })
  }

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    const model = this.#model(call.model)
    yield* this.#set.use(model, call.signal, ({ decoder }) => decoder.generate(call))
  }

  async load(id: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    await this.#set.ready(this.#model(id), signal, onProgress)
  }

  async unload(id: string): Promise<void> {
    await this.#set.unload(this.#model(id).id)
  }

  async close(): Promise<void> {
    await this.#set.close()
  }

  #model(id: string): OfferedModel {
    const model = this.#offered.get(id)
    if (model !== undefined) return model
    const message = `The model '${id}' does not exist or you do not have access to it.`
    throw new V1Error(404, message, { param: 'model', code: 'model_not_found' })
  }
}
