/**
 * How the CPU keeps ggml's blocks: eight rows together, first the scales of all their blocks, then all codes; in all as
 * many bytes as in the file. `assembly/pack-blocks.ts` brings them there, `assembly/unfold.ts` reads the scales.
 */
import { BLOCK_TYPES, type BlockType } from '../../platform/index.js'

/** How a block says its scales: `pairs`, `k4` and `k6Least` have a least value beside each, `powers` are exponents of two. */
const SCALES = ['halves', 'pairs', 'k4', 'k6', 'k6Least', 'k8', 'powers'] as const

interface BlockKind {
  /** Bits of a code. */
  readonly bits: number
  /** In which form codes are multiplied: that of so many bits. @default as they lie */
  readonly run?: number
  /** Scales of 32 values. @default 1 */
  readonly shares?: 2
  /** The code of 0. */
  readonly zero: number
  readonly scales: (typeof SCALES)[number]
}

/** Codes of `iq4` and `mxfp4` name steps of a table, which are signed bytes. */
const KINDS: Readonly<Record<BlockType, BlockKind>> = {
  q4_0: { bits: 4, zero: 8, scales: 'halves' },
  q4_1: { bits: 4, zero: 0, scales: 'pairs' },
  q5_0: { bits: 5, zero: 16, scales: 'halves' },
  q5_1: { bits: 5, zero: 0, scales: 'pairs' },
  q8_0: { bits: 8, zero: 0, scales: 'halves' },
  q2_k: { bits: 2, run: 4, shares: 2, zero: 0, scales: 'k4' },
  q3_k: { bits: 3, run: 4, shares: 2, zero: 4, scales: 'k6' },
  q4_k: { bits: 4, zero: 0, scales: 'k6Least' },
  q5_k: { bits: 5, zero: 0, scales: 'k6Least' },
  q6_k: { bits: 6, shares: 2, zero: 32, scales: 'k8' },
  iq4_nl: { bits: 4, run: 8, zero: 0, scales: 'halves' },
  iq4_xs: { bits: 4, run: 8, zero: 0, scales: 'k6' },
  mxfp4: { bits: 4, run: 8, zero: 0, scales: 'powers' },
}

/** The first kind of matrix that is one of blocks. */
export const FIRST_BLOCK_KIND = 8
/** Added to a kind whose codes are multiplied in 8 bits: activations are `WIDE`, which some machines multiply faster. */
export const WIDE_BLOCKS = 32
/** Added to a kind: activations are not rounded. */
export const EXACT_BLOCKS = 64
/** Added to a kind whose codes are multiplied as bytes: products are added up by pairs in 16 bits before they are widened. */
export const PAIRS = 128
/** Added to a kind whose codes are multiplied in 8 bits: as they are, by a machine that does so (`multipliesWholeBytes`). */
export const WHOLE = 256
/** What a kind may have added for how its bytes are multiplied, which is all that it changes. */
export const BYTE_WAYS = PAIRS | WHOLE

const NAMES = Object.keys(KINDS) as BlockType[]

export const blockKind = (type: BlockType): number => FIRST_BLOCK_KIND + NAMES.indexOf(type)
export const blockTypeOf = (kind: number): BlockType => NAMES[(kind & (WIDE_BLOCKS - 1)) - FIRST_BLOCK_KIND]!
/** Whether codes are multiplied in 8 bits. */
export function isOfBytes(kind: number): boolean {
  if (kind < FIRST_BLOCK_KIND || kind >= EXACT_BLOCKS) return false
  const { bits, run = bits } = KINDS[blockTypeOf(kind)]
  return run === 8
}

/** Of eight rows with four tokens. */
export const SUMS_BYTES = 128

/**
 * Room that a thread needs to read a group of eight rows: scales, codes, and these once more for several tokens; what sums
 * begin with, and what they come to.
 */
export function blockRoom(columns: number, several: boolean): number {
  return (columns / 32) * (128 + 256 + (several ? 512 : 0)) + (several ? 2 : 1) * SUMS_BYTES
}

/** Constants and functions of the module `./abi` of `assembly/`. */
export function blocksModule(): string {
  const constants = {
    ...{ FIRST_BLOCK_KIND, WIDE_BLOCKS, EXACT_BLOCKS, PAIRS, WHOLE, BYTE_WAYS },
    ...Object.fromEntries(NAMES.map((name) => [name.toUpperCase(), blockKind(name)])),
    ...Object.fromEntries(SCALES.map((name, i) => [`SCALES_${name.toUpperCase()}`, i])),
  }
  const declared = Object.entries(constants).map(([name, value]) => `export const ${name}: i32 = ${value}\n`)
  const chosen = (name: string, of: (kind: BlockKind, type: BlockType) => number) => {
    const cases = NAMES.map((type) => `    case ${blockKind(type)}: return ${of(KINDS[type], type)}\n`)
    return `export function ${name}(kind: i32): i32 {\n  switch (kind) {\n${cases.join('')}    default: return 0\n  }\n}\n`
  }
  return [
    ...declared,
    chosen('bitsOf', ({ bits }) => bits),
    chosen('runOf', ({ bits, run = bits }) => run),
    chosen('sharesOf', ({ shares = 1 }) => shares),
    chosen('zeroOf', ({ zero }) => zero),
    chosen('scalesOf', ({ scales }) => SCALES.indexOf(scales)),
    chosen('blockValues', (_, type) => BLOCK_TYPES[type].values),
    chosen('blockBytes', (_, type) => BLOCK_TYPES[type].bytes),
  ].join('')
}
