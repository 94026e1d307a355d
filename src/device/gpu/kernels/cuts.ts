/** How kernels for hardware cut their work: one record, so that a tuner can try others (see `bench/kit/tune`). */

export interface Cuts {
  /** Attention of few rows. */
  readonly pieces: PiecesCut
  /** Attention of many rows. */
  readonly blocks: BlocksCut
  /** Products of 4-bit matrices with few rows. */
  readonly vectors: VectorsCut
  /** Products with many rows, in f32: the first that gives workgroups enough, else the last. */
  readonly matmul: readonly MatmulCut[]
  /** Products of 4-bit matrices with many rows, in f16. */
  readonly halves: HalvesCut
  /** Products of quantised matrices with many rows go by matrices that subgroups multiply as one, where these can. */
  readonly matrices: boolean
}

export interface PiecesCut {
  /** Positions of a workgroup: whole pages. One number for all layers of a pass. */
  readonly positions: 16 | 32 | 64 | 128
  /** Invocations of a workgroup; they grow with the head. */
  readonly lanes: 32 | 64 | 128 | 256
  /** Values are loaded before scores are known. */
  readonly early: boolean
}

export interface BlocksCut {
  /** Queries of a workgroup, and keys that it takes at a time. */
  readonly queries: 32 | 64
  readonly keys: 16 | 32 | 64
  /** Invocations of a workgroup: each holds `queries * keys / lanes` scores, a multiple of four. */
  readonly lanes: 32 | 64 | 128 | 256
  /** `false`: the simpler kernel. */
  readonly on: boolean
}

/** A row's answer must not depend on how many there are: in what order is added up is the same for one and for several. */
export interface VectorsCut {
  /** An invocation takes a word of codes at a time, so that neighbours read what lies side by side. `false`: whole blocks. */
  readonly words: boolean
  /** Invocations that share a row. One row needs no barrier where a subgroup has as many. */
  readonly lanes: 4 | 8 | 16 | 32 | 64 | 128
  /**
   * Activations are rounded to 8 bits, where the GPU multiplies them four at a time; GGUF's blocks then, too. It changes
   * answers as much as the CPU device's rounding does, and no GPU has timed it. @default false
   */
  readonly packed?: boolean
  readonly one: HeldCut
  readonly several: HeldCut
}

export interface HeldCut {
  /** Rows of the matrix that an invocation holds: even. */
  readonly held: 2 | 4 | 8
  /** Invocations of a workgroup. */
  readonly threads: 64 | 128 | 256
}

export interface MatmulCut {
  /** Rows of the matrix, and of activations, of a workgroup, and its invocations: each holds 16, 32 or 64 sums. */
  readonly rows: 32 | 64 | 128
  readonly tokens: 32 | 64 | 128
  readonly threads: 64 | 128 | 256
  /** Vectors of four columns of a step through shared memory. */
  readonly quads: 4 | 8
  /** What the next step needs is loaded while this one is computed. */
  readonly ahead: boolean
  /** Workgroups below which a GPU would be left idle. @default 1 */
  readonly least?: number
}

export interface HalvesCut {
  /** A step's tiles lie beside those of the step before: one barrier a step instead of two, in 16.5 KB instead of 8.25. */
  readonly twice: boolean
}

export const CUTS: Cuts = {
  pieces: { positions: 64, lanes: 64, early: true },
  blocks: { queries: 32, keys: 64, lanes: 128, on: true },
  vectors: { words: true, lanes: 64, one: { held: 4, threads: 64 }, several: { held: 4, threads: 64 } },
  matmul: [
    { rows: 128, tokens: 128, threads: 256, quads: 4, ahead: false, least: 200 },
    { rows: 64, tokens: 64, threads: 128, quads: 8, ahead: false, least: 180 },
    { rows: 32, tokens: 32, threads: 64, quads: 8, ahead: false },
  ],
  halves: { twice: true },
  matrices: true,
}

/** Bytes that a workgroup shares where kernels are cut by `CUTS`. */
export const ROOMY = 32768

/** For a GPU whose workgroups share no more than the 16384 bytes that all have. */
const TIGHT: Partial<Cuts> = {
  blocks: { ...CUTS.blocks, on: false },
  // Where its subgroups are of 32, one row is then summed up without a barrier.
  vectors: { ...CUTS.vectors, lanes: 32 },
  matmul: [{ rows: 64, tokens: 64, threads: 256, quads: 4, ahead: false }],
  halves: { twice: false },
}

export function cutsOf({ cuts, tight }: { readonly cuts?: Partial<Cuts>; readonly tight?: boolean }): Cuts {
  return tight || cuts ? { ...CUTS, ...(tight && TIGHT), ...cuts } : CUTS
}
