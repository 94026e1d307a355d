/** How keys and values are kept. */

/**
 * Numbers, or ggml's `q8_0`: of each 32 values of a head a scale in f16, the greatest of their sizes / 127, and each as a
 * whole multiple of it.
 */
export type CacheType = 'f32' | 'f16' | 'q8_0'

/** Values of a head that share a scale. */
export const CACHE_BLOCK = 32

const BYTES: Readonly<Record<CacheType, number>> = { f32: 4, f16: 2, q8_0: (CACHE_BLOCK + 2) / CACHE_BLOCK }

/** Bytes of so many values of one head. */
export const cacheBytes = (type: CacheType, values: number): number => values * BYTES[type]

/** Whether heads of so many values can be kept so. */
export const keepsHeads = (type: CacheType, headSize: number): boolean =>
  type !== 'q8_0' || headSize % CACHE_BLOCK === 0
