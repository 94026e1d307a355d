/**
 * ggml's blocks as they lie in a file, read by shaders. Each type says, of a group of columns that share a scale, this
 * scale and what is taken off, and of eight columns their codes less that of zero: value = code * scale - least.
 */
import { BLOCK_TYPES, type BlockType, blockBytes } from '../../../platform/index.js'

interface BlockShader {
  /** Columns that share a scale. */
  readonly group: 16 | 32
  /** Something is taken off. */
  readonly least?: true
  /** Of group `g` of the block at byte `at`: `vec2<f32>(scale, least)`. */
  readonly scale: string
  /** Sets `a` and `b`, four bytes each, from columns 8 `i` to 8 `i` + 7 of the block at byte `at`. */
  readonly codes: string
  readonly zero: number
  /** Codes are indices of this table. */
  readonly table?: readonly number[]
}

/** 16 bytes: low nibbles, then high ones. `from`: where they begin. */
const sixteen = (from: string) => `
  let start = ${from} + (i & 1u) * 8u;
  let shift = 4u * ((i >> 1u) & 1u);
  a = (wordAt(start) >> shift) & 0x0f0f0f0fu;
  b = (wordAt(start + 4u) >> shift) & 0x0f0f0f0fu;`

/** Of 32 bytes, low nibbles or high ones; the fifth bits are bits of 32 bytes or of a word. */
const thirtyTwo = (from: number) => `
  let start = at + ${from}u + (i >> 3u) * 32u + (i & 3u) * 8u;
  let shift = 4u * ((i >> 2u) & 1u);
  a = (wordAt(start) >> shift) & 0x0f0f0f0fu;
  b = (wordAt(start + 4u) >> shift) & 0x0f0f0f0fu;`

const fifth = (from: number) => `
  let bits = wordAt(at + ${from}u) >> (8u * i);
  a |= (((bits & 15u) * 0x204081u) & 0x01010101u) << 4u;
  b |= ((((bits >> 4u) & 15u) * 0x204081u) & 0x01010101u) << 4u;`

/** Codes of two bits: of 32 bytes, those that two bits of each make. */
const twoBits = (from: number) => `
  let start = at + ${from}u + (i >> 4u) * 32u + (i & 3u) * 8u;
  let shift = 2u * ((i >> 2u) & 3u);
  a = (wordAt(start) >> shift) & 0x03030303u;
  b = (wordAt(start + 4u) >> shift) & 0x03030303u;`

const alone = 'return vec2<f32>(halfAt(at), 0.0);'
const pair = 'return vec2<f32>(halfAt(at), -halfAt(at + 2u));'
const factors = `
  let d = vec2<f32>(halfAt(at), halfAt(at + 2u));
  let low = byteAt(at + 4u + g);
  let high = byteAt(at + 8u + g);
  if (g < 4u) { return d * vec2<f32>(f32(low & 63u), f32(high & 63u)); }
  let first = byteAt(at + g);
  return d * vec2<f32>(f32((high & 15u) | ((first >> 6u) << 4u)), f32((high >> 4u) | ((low >> 6u) << 4u)));`
/** Those of E2M1, doubled. */
const DOUBLED = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]
const STEPS = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]

const SHADERS: Readonly<Record<BlockType, BlockShader>> = {
  q4_0: { group: 32, scale: alone, codes: sixteen('at + 2u'), zero: 8 },
  q4_1: { group: 32, least: true, scale: pair, codes: sixteen('at + 4u'), zero: 0 },
  q5_0: { group: 32, scale: alone, codes: `${sixteen('at + 6u')}${fifth(2)}`, zero: 16 },
  q5_1: { group: 32, least: true, scale: pair, codes: `${sixteen('at + 8u')}${fifth(4)}`, zero: 0 },
  q8_0: {
    group: 32,
    scale: alone,
    codes: `
  a = wordAt(at + 2u + 8u * i) ^ 0x80808080u;
  b = wordAt(at + 6u + 8u * i) ^ 0x80808080u;`,
    zero: 128,
  },
  q2_k: {
    group: 16,
    least: true,
    scale: `
  let both = byteAt(at + g);
  return vec2<f32>(halfAt(at + 80u) * f32(both & 15u), halfAt(at + 82u) * f32(both >> 4u));`,
    codes: twoBits(16),
    zero: 0,
  },
  q3_k: {
    group: 16,
    scale: `
  let low = (byteAt(at + 96u + (g & 7u)) >> (4u * (g >> 3u))) & 15u;
  let high = (byteAt(at + 104u + (g & 3u)) >> (2u * (g >> 2u))) & 3u;
  return vec2<f32>(halfAt(at + 108u) * (f32(low | (high << 4u)) - 32.0), 0.0);`,
    codes: `${twoBits(32)}
  let third = at + (i & 3u) * 8u;
  a |= ((wordAt(third) >> (i >> 2u)) & 0x01010101u) << 2u;
  b |= ((wordAt(third + 4u) >> (i >> 2u)) & 0x01010101u) << 2u;`,
    zero: 4,
  },
  q4_k: { group: 32, least: true, scale: factors, codes: thirtyTwo(16), zero: 0 },
  q5_k: {
    group: 32,
    least: true,
    scale: factors,
    codes: `${thirtyTwo(48)}
  let fifth = at + 16u + (i & 3u) * 8u;
  a |= ((wordAt(fifth) >> (i >> 2u)) & 0x01010101u) << 4u;
  b |= ((wordAt(fifth + 4u) >> (i >> 2u)) & 0x01010101u) << 4u;`,
    zero: 0,
  },
  q6_k: {
    group: 16,
    scale: 'return vec2<f32>(halfAt(at + 208u) * f32(i32(byteAt(at + 192u + g) << 24u) >> 24u), 0.0);',
    // Two halves of 128 columns, in each four quarters.
    codes: `
  let side = i >> 4u;
  let quarter = (i >> 2u) & 3u;
  let start = at + side * 64u + (quarter & 1u) * 32u + (i & 3u) * 8u;
  let high = at + 128u + side * 32u + (i & 3u) * 8u;
  let shift = 4u * (quarter >> 1u);
  a = ((wordAt(start) >> shift) & 0x0f0f0f0fu) | (((wordAt(high) >> (2u * quarter)) & 0x03030303u) << 4u);
  b = ((wordAt(start + 4u) >> shift) & 0x0f0f0f0fu) | (((wordAt(high + 4u) >> (2u * quarter)) & 0x03030303u) << 4u);`,
    zero: 32,
  },
  iq4_nl: { group: 32, scale: alone, codes: sixteen('at + 2u'), zero: 0, table: STEPS },
  iq4_xs: {
    group: 32,
    scale: `
  let low = (byteAt(at + 4u + (g >> 1u)) >> (4u * (g & 1u))) & 15u;
  let high = (byteAt(at + 2u + (g >> 2u)) >> (2u * (g & 3u))) & 3u;
  return vec2<f32>(halfAt(at) * (f32(low | (high << 4u)) - 32.0), 0.0);`,
    codes: sixteen('at + 8u + (i >> 2u) * 16u'),
    zero: 0,
    table: STEPS,
  },
  mxfp4: {
    group: 32,
    scale: 'return vec2<f32>(0.5 * bitcast<f32>(byteAt(at) << 23u), 0.0);',
    codes: sixteen('at + 1u'),
    zero: 0,
    table: DOUBLED,
  },
}

export const groupOf = (type: BlockType): 16 | 32 => SHADERS[type].group
export const takesOff = (type: BlockType): boolean => SHADERS[type].least === true

/** WGSL: the word whose first byte is at `at`, where blocks of so many bytes begin. */
function wordFrom(bytes: number): string {
  if (bytes % 4 === 0) return 'return w[at >> 2u];'
  const parts = bytes % 2 === 0 ? '2u' : '3u'
  return `let low = w[at >> 2u];
  let shift = (at & ${parts}) * 8u;
  if (shift == 0u) { return low; }
  return (low >> shift) | (w[(at >> 2u) + 1u] << (32u - shift));`
}

/** What zero's code is once codes are signed bytes: of a table the entries are, and Q8_0's are in the file. */
export const zeroByte = (type: BlockType): number => (SHADERS[type].zero === 128 ? 0 : SHADERS[type].zero)

/**
 * `fn blockScale(row: u32, group: u32) -> vec2<f32>` and `fn blockWords(row: u32, k8: u32) -> vec2<u32>`, a byte for each
 * code, from the words of `w`. Most blocks do not begin at a word, and some at an odd byte.
 */
function blockReaders(type: BlockType, columns: number): string {
  const { values, bytes } = BLOCK_TYPES[type]
  const { group, scale, codes } = SHADERS[type]
  const at = (blocks: string) => `row * ${blockBytes(type, columns)}u + (${blocks}) * ${bytes}u`
  const groups = values / group
  const eights = values / 8
  return `
fn wordAt(at: u32) -> u32 {
  ${wordFrom(bytes)}
}
fn byteAt(at: u32) -> u32 { return (w[at >> 2u] >> ((at & 3u) * 8u)) & 255u; }
fn halfAt(at: u32) -> f32 { return unpack2x16float(w[at >> 2u] >> ((at & 2u) * 8u)).x; }
fn four(word: u32) -> vec4<u32> { return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u); }
fn blockScale(row: u32, group: u32) -> vec2<f32> {
  let at = ${at(`group / ${groups}u`)};
  let g = group % ${groups}u;
  ${scale}
}
fn blockWords(row: u32, k8: u32) -> vec2<u32> {
  let at = ${at(`k8 / ${eights}u`)};
  let i = k8 % ${eights}u;
  var a: u32;
  var b: u32;${codes}
  return vec2<u32>(a, b);
}`
}

const ofTable = (type: 'f32' | 'i32', table: readonly number[]) =>
  `var<private> entries: array<${type}, ${table.length}> = array<${type}, ${table.length}>(${table.map((step) => `${type}(${step})`).join(', ')});`
const looked = (type: 'f32' | 'i32', word: string) =>
  `vec4<${type}>(${['x', 'y', 'z', 'w'].map((lane) => `entries[four(${word}).${lane}]`).join(', ')})`

/** Those, and `fn blockCodes(row: u32, k8: u32) -> array<vec4<f32>, 2>`: codes less that of zero. */
export function blockFunctions(type: BlockType, columns: number): string {
  const { zero, table } = SHADERS[type]
  // A byte becomes the end of the mantissa of 2^23: no conversion, which GPUs are slow at.
  const bytesAsNumbers = (word: string) =>
    `bitcast<vec4<f32>>(four(${word}) | vec4<u32>(0x4b000000u)) - vec4<f32>(${8388608 + zero}.0)`
  const numbers = (word: string) => (table ? looked('f32', word) : bytesAsNumbers(word))
  return `
${table ? ofTable('f32', table) : ''}
${blockReaders(type, columns)}
fn blockCodes(row: u32, k8: u32) -> array<vec4<f32>, 2> {
  let words = blockWords(row, k8);
  return array<vec4<f32>, 2>(${numbers('words.x')}, ${numbers('words.y')});
}`
}

/** Those, and `fn blockBytes(row: u32, k8: u32) -> vec2<u32>`: codes as signed bytes, of which `zeroByte` is zero's. */
export function blockByteFunctions(type: BlockType, columns: number): string {
  const { zero, table } = SHADERS[type]
  const signed = zero === 128 ? 'words ^ vec2<u32>(0x80808080u)' : 'words'
  const bytes = (word: string) => `pack4xI8(${looked('i32', word)})`
  return `
${table ? ofTable('i32', table) : ''}
${blockReaders(type, columns)}
fn blockBytes(row: u32, k8: u32) -> vec2<u32> {
  let words = blockWords(row, k8);
  return ${table ? `vec2<u32>(${bytes('words.x')}, ${bytes('words.y')})` : signed};
}`
}
