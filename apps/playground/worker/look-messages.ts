/** What a page and the worker that looks at models say to each other. */
import type { Fit, ModelOptions } from 'local-v1/webgpu'

/** The worker's name, by which the one script knows what it is to do. */
export const LOOK = 'local-v1 playground look'

/** A name, or the files themselves. */
export type Wanted = string | readonly File[]

export type How = Pick<ModelOptions, 'contextLength' | 'cacheType' | 'quantize'>

export type Question =
  /** `free`: bytes that models may take here, where that is known. */
  | { readonly kind: 'look'; readonly wanted: Wanted; readonly free?: number; readonly how?: How }
  /** Copies files into the origin's own file system. */
  | { readonly kind: 'keep'; readonly files: readonly File[] }

/** What was found, and where: as `webgpu({ models })` takes it, once it is kept. */
export interface Found extends Fit {
  readonly from: string
  readonly device: string
}

export type Answer =
  | { readonly found: Found }
  | { readonly kept: string }
  | { readonly done: number; readonly of: number }
  | { readonly failed: string }
