import { type LoadContext, ModelSet } from '../model-set.js'
import type { Device } from './device/device.js'
import { type LoadedModel, loadModel, planLoad } from './loaded-model.js'
import type { LoadPlan } from './model/plan-model.js'
import type { OfferedModel } from './options.js'
import type { Surroundings } from './surroundings.js'

export interface DeviceModelsOptions {
  readonly surroundings: Surroundings
  /** Bytes that all loaded models may take, by kind of device. */
  readonly budget: (device: Device) => number
  readonly maxBatch: number | undefined
  readonly onDevice: (device: Device) => void
}

/** The models on one device, which is opened for the first of them, and anew after it was lost. */
export class DeviceModels extends ModelSet<OfferedModel, LoadedModel> {
  readonly #own: DeviceModelsOptions
  #device: Promise<Device> | undefined

  constructor(options: DeviceModelsOptions) {
    super({ load: (model, context) => this.#load(model, context) })
    this.#own = options
  }

  override async close(): Promise<void> {
    await super.close()
    const device = await this.#device?.catch(() => undefined)
    this.#device = undefined
    device?.destroy()
  }

  async #load(model: OfferedModel, { report, signal, makeRoom }: LoadContext): Promise<LoadedModel> {
    const { surroundings, maxBatch, budget } = this.#own
    const device = await this.#openDevice()
    let plan: LoadPlan | undefined
    const repository = await surroundings.openRepository(model, report, signal, (weights) => {
      plan = planLoad(model, weights, device, maxBatch)
    })
    plan ??= planLoad(model, repository.weights, device, maxBatch)
    const { total } = plan.size.bytes
    await makeRoom(() => device.memory.bytes + total <= budget(device))
    return loadModel(model, repository, device, { plan, report, signal })
  }

  #openDevice(): Promise<Device> {
    if (this.#device === undefined) {
      const opening = this.#own.surroundings.openDevice()
      this.#device = opening
      opening.then(
        (device) => {
          this.#own.onDevice(device)
          void device.lost.then((error) => this.#lost(device, opening, error))
        },
        () => {
          // The next request tries again: a GPU may come back.
          this.#device = undefined
        },
      )
    }
    return this.#device
  }

  /** Everything on a lost device is gone. What runs fails; what comes next finds a new device. */
  #lost(device: Device, opening: Promise<Device>, error: Error): void {
    if (this.#device === opening) this.#device = undefined
    this.abandon((loaded) => loaded.device === device, error)
    try {
      device.destroy()
    } catch {
      // It is gone already.
    }
  }
}
