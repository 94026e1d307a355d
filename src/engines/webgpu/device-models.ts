import { V1Error } from '../../contract/index.js'
import type { Device } from '../../device/index.js'
import type { TextFiles } from '../../generate/index.js'
import { bytes, quantisationOf, type WeightOutline } from '../../models/index.js'
import { during } from '../../platform/index.js'
import { type LoadContext, ModelSet } from '../model-set.js'
import { alternatives } from './alternatives.js'
import type { KnownCosts } from './cache-choice.js'
import { type Draft, openDraft } from './draft.js'
import { type LoadedModel, loadModel, planLoad, textSideOf } from './loaded-model.js'
import type { OfferedModel, WebGpuOptions } from './options.js'
import type { Surroundings } from './surroundings.js'

export interface DeviceModelsOptions {
  readonly surroundings: Surroundings
  /** Bytes that all loaded models may take, by kind of device. */
  readonly budget: (device: Device) => number
  readonly maxBatch: number | undefined
  readonly drafts: WebGpuOptions['drafts']
  readonly onDevice: (device: Device) => void
}

/**
 * The models on a GPU, which is opened for the first of them and anew after it was lost; or on CPU devices, one for each
 * model: their memory can grow, but only goes back as a whole.
 */
export class DeviceModels extends ModelSet<OfferedModel, LoadedModel> {
  readonly #own: DeviceModelsOptions
  /** The device that models share. */
  #shared: Device | undefined
  readonly #devices = new Set<Device>()
  /** Of caches in 8 bits. */
  readonly #costs: KnownCosts = new Map()

  constructor(options: DeviceModelsOptions) {
    super({ load: (model, context) => this.#load(model, context) })
    this.#own = options
  }

  override async close(): Promise<void> {
    await super.close()
    for (const device of this.#devices) this.#giveUp(device)
  }

  async #load(model: OfferedModel, { report, signal, makeRoom }: LoadContext): Promise<LoadedModel> {
    const { surroundings, maxBatch, drafts, budget } = this.#own
    // It opens while what describes the model is fetched.
    const opening = this.#shared ? Promise.resolve(this.#shared) : this.#openDevice()
    // Whether models share it is known once it is there.
    const opened = opening.then((device) => ({ device, alone: device !== this.#shared }))
    let seen: WeightOutline | undefined
    try {
      let plan: ReturnType<typeof planLoad> | undefined
      let draft: Draft | undefined
      let words: ReturnType<typeof textSideOf>
      const check = async (weights: WeightOutline, text: TextFiles) => {
        seen = weights
        words = during('files', model.id, () => textSideOf(model.id, weights, text))
        const { device } = await opened
        const needs = { surroundings, device, maxBatch, report, signal }
        draft = drafts === 'never' ? undefined : await openDraft(model, { weights, text }, needs)
        // One guesses: what is named, else what the weights have for it.
        const guessing = { beside: draft?.plan.size.bytes.total, draftHead: drafts !== 'never' && !draft }
        plan = during('files', model.id, () => planLoad(model, weights, device, maxBatch, guessing))
      }
      const repositories = surroundings.openRepository(model, report, signal, check)
      const [{ device, alone }, repository] = await Promise.all([opened, repositories])
      seen = repository.weights
      if (!plan) await check(repository.weights, repository.text)
      const total = plan!.size.bytes.total + (draft?.plan.size.bytes.total ?? 0)
      await makeRoom(() => this.#bytes + total <= budget(device))
      const onReleased = () => {
        if (alone) this.#giveUp(device)
      }
      const costs = { surroundings, known: this.#costs }
      return await loadModel(model, repository, device, {
        plan: plan!,
        text: words!,
        report,
        signal,
        drafts,
        draft,
        costs,
        onReleased,
      })
    } catch (error) {
      // Where there is none, that is the error.
      const { device, alone } = await opened
      const fault = seen ? await this.#advised(error, model, seen, device, signal) : error
      if (alone) this.#giveUp(device)
      throw fault
    }
  }

  /** The refusal of a model that is too large says what would fit. */
  async #advised(error: unknown, model: OfferedModel, outline: WeightOutline, device: Device, signal: AbortSignal) {
    if (!V1Error.is(error) || error.code !== 'device_too_small') return error
    const { location } = model
    const siblings = (await this.#own.surroundings.siblings?.(model, signal)) ?? new Map<string, number>()
    const named = location.kind === 'hub' ? (location.quantisation ?? quantisationOf(location.file ?? '')) : undefined
    const own = [...siblings].find(([label]) => label.toLowerCase() === named?.toLowerCase())
    const free = Number.POSITIVE_INFINITY
    const [first] = alternatives(model, { device, outline, free, siblings, bytes: own?.[1] ?? 0 })
    const advice = first
      ? `What would fit: ${first.how}, which takes ${bytes(first.memoryBytes)}.`
      : 'Only a smaller model or quantisation would fit.'
    return new V1Error(error.status, `${error.message} ${advice}`, {
      code: error.code,
      headers: { 'x-should-retry': 'false' },
    })
  }

  get #bytes(): number {
    let sum = 0
    for (const device of this.#devices) sum += device.memory.bytes
    // What is promised to those that are there is nobody else's.
    for (const { cacheUse } of this.loaded) sum += cacheUse?.open ?? 0
    return sum
  }

  async #openDevice(): Promise<Device> {
    const device = await this.#own.surroundings.openDevice()
    this.#devices.add(device)
    if (device.info.kind === 'webgpu') this.#shared = device
    this.#own.onDevice(device)
    // Everything on a lost device is gone. What runs fails; what comes next finds a new device.
    void device.lost.then((error) => {
      this.abandon((loaded) => loaded.device === device, error)
      this.#giveUp(device)
    })
    return device
  }

  #giveUp(device: Device): void {
    if (this.#shared === device) this.#shared = undefined
    this.#devices.delete(device)
    try {
      device.destroy()
    } catch {
      // It is gone already.
    }
  }
}
