/** What the memory of a model is for. */
import type { EncoderLoadPlan, LoadPlan } from '../../models/index.js'

/** Bytes; what a model has none of is absent. */
export interface MemoryParts {
  readonly weights: number
  /** Keys and values of layers that see all that came before. */
  readonly cache?: number
  /** Of layers that keep no more than their window. */
  readonly windows?: number
  /** What layers keep that is neither. */
  readonly states?: number
  /** What is on its way through the layers. */
  readonly work: number
  /** Tables that stay with the host. */
  readonly host?: number
  /** All that a draft model takes. */
  readonly draft?: number
}

export function memoryParts({ size }: LoadPlan | EncoderLoadPlan): MemoryParts {
  const { total: _, weights, work, ...more } = size.bytes
  return { weights, ...Object.fromEntries(Object.entries(more).filter(([, bytes]) => bytes > 0)), work }
}

export const sumOf = (parts: MemoryParts): number => Object.values(parts).reduce((sum, bytes) => sum + bytes, 0)

/** `weights 270 MB, cache 34 MB, work 12 MB` */
export function memoryLine(parts: MemoryParts): string {
  return Object.entries(parts)
    .map(([name, bytes]) => `${name} ${Math.ceil(bytes / 1e6)} MB`)
    .join(', ')
}
