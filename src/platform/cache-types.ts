/**
 * How keys and values may be packed, as ggml does: of each 32 values of a head a scale in f16, and each value as a whole
 * multiple of it. `q8_0`: an 8-bit cache, which takes 17 bytes instead of f16's 32; the scale is the greatest size / 127.
 * `q4_0`: a 4-bit cache, which takes 9; the value of the greatest size is -8 times the scale.
 */
export type PackedCacheType = 'q8_0' | 'q4_0'
export type CacheType = 'f32' | 'f16' | PackedCacheType
/** As the option says it; `auto`: in 8 bits where that costs this model little, else in f16. */
export type CacheTypeChoice = 'f16' | PackedCacheType | 'auto'

/** Values of a head that share a scale. */
export const CACHE_BLOCK = 32

interface PackedCache {
  /** In messages. */
  readonly called: string
  /** Of the value that decides the scale. */
  readonly most: number
}

export const PACKED_CACHES: Readonly<Record<PackedCacheType, PackedCache>> = {
  q8_0: { called: 'an 8-bit cache', most: 127 },
  q4_0: { called: 'a 4-bit cache', most: 8 },
}

/** Of a value, or of its code: how many times the scale it is, in two's complement. */
export const CACHE_BITS = { f32: 32, f16: 16, q8_0: 8, q4_0: 4 } as const satisfies Readonly<Record<CacheType, number>>

export const PACKED_CACHE_TYPES = Object.keys(PACKED_CACHES) as readonly PackedCacheType[]

export const isPackedCacheType = (type: unknown): type is PackedCacheType =>
  typeof type === 'string' && Object.hasOwn(PACKED_CACHES, type)

/** As messages name it, with the option. */
export const cacheTypeCalled = (choice: CacheTypeChoice): string =>
  isPackedCacheType(choice)
    ? `${PACKED_CACHES[choice].called} (cacheType: '${choice}')`
    : `${choice === 'auto' ? 'a cache by choice' : 'a cache in f16'} (cacheType: '${choice}')`

/** What the option may be. */
export const CACHE_TYPE_CHOICES: readonly CacheTypeChoice[] = ['f16', ...PACKED_CACHE_TYPES, 'auto']

export const isCacheTypeChoice = (choice: unknown): choice is CacheTypeChoice =>
  CACHE_TYPE_CHOICES.some((each) => each === choice)

/** For messages. */
export const CACHE_TYPES_LISTED = CACHE_TYPE_CHOICES.map((type) => `'${type}'`).join(', ')

/** And for the help of the command line. */
export const CACHE_TYPE_HELP = `${PACKED_CACHE_TYPES.map((type) => `${type} is ${PACKED_CACHES[type].called}`).join(', ')}, auto asks the model whether 8 bits will do`

/** Bytes of so many values of one head. */
export function cacheBytes(type: CacheType, values: number): number {
  return (values / 8) * CACHE_BITS[type] + (isPackedCacheType(type) ? (values / CACHE_BLOCK) * 2 : 0)
}

/** Whether heads of so many values can be kept so. */
export const keepsHeads = (type: CacheType, headSize: number): boolean =>
  !isPackedCacheType(type) || headSize % CACHE_BLOCK === 0
