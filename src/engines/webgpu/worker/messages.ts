import type { NamedBlob } from '../../../models/index.js'
import type { ModelOptions, WebGpuOptions } from '../options.js'

/** A file on its way: of a `File` only the `Blob` arrives everywhere. */
export interface SentBlob {
  readonly blob: Blob
  readonly name: string | undefined
}

export interface SentModel extends Omit<ModelOptions, 'from'> {
  readonly from?: string | readonly SentBlob[]
}

/** Options without their functions. */
export type WorkerOptions = Omit<WebGpuOptions, 'log' | 'models' | 'worker'> & { readonly models: readonly SentModel[] }

export type ToWorker =
  | { readonly type: 'offer'; readonly model: SentModel }
  | { readonly type: 'withdraw'; readonly model: string }

export function packed({ from, ...rest }: ModelOptions): SentModel {
  if (from === undefined || typeof from === 'string') return { ...rest, ...(from !== undefined && { from }) }
  return { ...rest, from: [from].flat().map((blob: NamedBlob) => ({ blob, name: blob.name })) }
}

export function unpacked({ from, ...rest }: SentModel): ModelOptions {
  if (from === undefined || typeof from === 'string') return { ...rest, ...(from !== undefined && { from }) }
  const named = ({ blob, name }: SentBlob): NamedBlob => Object.defineProperty(blob, 'name', { value: name })
  return { ...rest, from: from.map(named) }
}
