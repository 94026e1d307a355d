/** The models that a user added: one list for the page and every worker of the origin, kept beside the downloads. */
import type { ModelOptions } from 'local-v1/webgpu'

export interface AddedModel {
  readonly id: string
  /** Where it is: as `webgpu({ models })` takes it. */
  readonly from: string
  readonly contextLength: number
  readonly cacheType?: NonNullable<ModelOptions['cacheType']>
  readonly quantize?: 'q4f16_1'
  readonly downloadBytes: number
  readonly memoryBytes: number
}

const CACHE = 'added models'
const ADDRESS = '/added-models.json'
const CHANNEL = 'local-v1 playground models'

export async function addedModels(): Promise<readonly AddedModel[]> {
  try {
    const kept = await (await caches.open(CACHE)).match(ADDRESS)
    return kept ? ((await kept.json()) as AddedModel[]) : []
  } catch {
    return []
  }
}

export async function keepAdded(models: readonly AddedModel[]): Promise<void> {
  try {
    await (await caches.open(CACHE)).put(ADDRESS, Response.json(models))
  } catch {
    throw new Error('This browser does not let this page store data here. Open it in its own tab to add models.')
  }
  tellChanged()
}

/** Every window, and the worker, looks again at which models there are. */
export function tellChanged(): void {
  try {
    const channel = new BroadcastChannel(CHANNEL)
    channel.postMessage('changed')
    channel.close()
  } catch {
    // Where storage is blocked, each window has a worker of its own.
  }
}

export function onChanged(listener: () => void): void {
  try {
    new BroadcastChannel(CHANNEL).addEventListener('message', listener)
  } catch {
    // The same.
  }
}
