/** What lies on a device: weights, activations, and what is kept of sequences. */
import { type BlockType, blockBytes, type CacheType, isBlockType } from '../../platform/index.js'

export { CACHE_BLOCK, type CacheType } from '../../platform/index.js'

/** Positions per page of the key/value cache. */
export const PAGE = 16
/** Weights per scale of a 4-bit matrix. */
export const Q4_BLOCK = 32

interface Resource {
  /** Device memory it takes. */
  readonly bytes: number
  /** Frees it once submitted passes no longer need it. A second call does nothing. */
  destroy(): void
}

export interface ReadingRoom extends Resource {
  /** Nobody may write into it any more once it is destroyed. */
  readonly room: Uint8Array
}

/** W of y = W x: `rows` outputs, `columns` inputs. */
export interface Matrix extends Resource {
  readonly rows: number
  readonly columns: number
}
export interface Vector extends Resource {
  readonly length: number
}
/** Scratch that an operation needs beside its output may hang on the output. */
export interface Activations extends Resource {
  readonly rows: number
  readonly columns: number
}
/**
 * Where the rows of a pass go, of which each goes to some of many experts. A place is a row at one of its experts; those at
 * the same expert lie together, so that its weights are read once.
 */
export interface Routing extends Resource {
  readonly shape: RoutingShape
}
export interface KeyValueCache extends Resource {
  readonly shape: CacheShape
  /** Bytes of memory that it has come to use. */
  readonly usedBytes: number
  /** Of one that grows: pages that there is memory for, and the bytes that it may still take. */
  readonly ready?: number
  readonly openBytes?: number
  /** Makes so many pages ready; false: the device has no memory for them. Absent: all are, from the beginning. */
  grow?(pages: number): Promise<boolean>
}
export interface States extends Resource {
  readonly shape: StatesShape
}
export interface Sampler extends Resource {
  readonly shape: SamplerShape
}

export interface RoutingShape {
  /** Of the largest pass. */
  readonly rows: number
  readonly experts: number
  /** Experts that a row goes to. */
  readonly chosen: number
}

/** How a matrix will be used, which a device that keeps it in parts must know. */
export interface MatrixUse {
  /** It will be projected with as `gated`, and only so. */
  readonly gated?: boolean
  /** So many rows, from the first on, are used together: those of an expert. A multiple of 8. @default all */
  readonly together?: number | undefined
}

/** What decides how many bytes a matrix, or a band of one, takes. */
export interface MatrixShape {
  readonly format: MatrixBand['format']
  readonly rows: number
  readonly columns: number
  /** Of 4-bit weights. */
  readonly scaleType: 'f16' | 'f32'
}

/** Whose rows are not all of one form has these one below the other. */
export type MatrixData =
  | MatrixBand
  | { readonly format: 'mixed'; readonly rows: number; readonly columns: number; readonly bands: readonly MatrixBand[] }

export type MatrixBand =
  | {
      /** MLC's 4-bit form: value = (code - 7) * scale. `columns` is a multiple of 32. */
      readonly format: 'q4'
      readonly rows: number
      readonly columns: number
      /** u32 [rows][columns / 8], eight codes each, lowest first; little-endian. */
      readonly codes: Uint8Array
      /** [rows][columns / 32] */
      readonly scales: Uint8Array
      readonly scaleType: 'f16' | 'f32'
    }
  | {
      /** Numbers, or ggml's blocks as they lie in a file. `columns` is a multiple of 8, or of a block's values. */
      readonly format: PlainFormat | BlockType
      readonly rows: number
      readonly columns: number
      /** [rows][columns], little-endian. */
      readonly data: Uint8Array
    }

/** A matrix whose rows come one after the other, each of its band's form; it may be used once it has them all. */
export interface GrowingMatrix {
  readonly matrix: Matrix
  /** The next rows, of one band. Their bytes may be reused when the call returns. */
  add(rows: MatrixBand): void
}

export type PlainFormat = 'f32' | 'f16' | 'bf16'

/** Bytes of a row as it is handed over. */
export function rowBytes(format: PlainFormat | BlockType, columns: number): number {
  if (isBlockType(format)) return blockBytes(format, columns)
  return columns * (format === 'f32' ? 4 : 2)
}

export function shapeOf(band: MatrixBand): MatrixShape {
  const { format, rows, columns } = band
  return { format, rows, columns, scaleType: band.format === 'q4' ? band.scaleType : 'f16' }
}

export const bandsOf = (data: MatrixData): readonly MatrixBand[] => (data.format === 'mixed' ? data.bands : [data])

interface Fillable extends Matrix {
  add(rows: MatrixBand): void
}

/** A matrix with all its rows; nothing of it stays where they cannot be had. */
export function filled<M extends Fillable>(data: MatrixData, make: (bands: readonly MatrixShape[]) => M): M {
  const bands = bandsOf(data)
  const matrix = make(bands.map(shapeOf))
  try {
    for (const band of bands) matrix.add(band)
  } catch (error) {
    matrix.destroy()
    throw error
  }
  return matrix
}

export interface CacheShape {
  readonly layers: number
  readonly pages: number
  /** Pages that a cache that grows has from the beginning. @default all */
  readonly first?: number
  /** Heads of keys, and of values. */
  readonly heads: number
  /** A multiple of 4, and one that `type` keeps. */
  readonly headSize: number
  readonly type: CacheType
  /** Its layers see a window alone: a sequence lies on its `windowPages`. */
  readonly sliding?: boolean
}

/**
 * What layers keep of a sequence where that is not all its keys and values: so many values, which every token changes. A
 * slot has room for those of one sequence at one length.
 */
export interface StatesShape {
  readonly slots: number
  /** Values of each state. */
  readonly sizes: readonly number[]
}

export interface SamplerShape {
  /** Logits per row. */
  readonly vocabulary: number
  /** Ids at and above it are padding: never sampled, in no distribution. */
  readonly tokens: number
  /** Rows that one pass may sample. */
  readonly rows: number
  /** Places for tokens that later passes continue from. */
  readonly slots: number
}
