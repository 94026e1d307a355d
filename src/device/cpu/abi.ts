/**
 * What the device and its kernels agree on, said once. `npm run build:kernels` makes of it what writes an operation's
 * arguments (`WRITERS`, in TypeScript) and what reads them: the module `./abi` of `assembly/`, with a constant for each
 * number and each operation's code, and a namespace for each operation (`Norm.epsilon(args)`).
 */
import { PACKED_CACHE_TYPES } from '../../platform/index.js'
import { CACHE_BLOCK, type CacheType, GATES, gateCode, PAGE, Q4_BLOCK } from '../contract.js'
import { ATTEND_ROOM } from '../operations/attend/index.js'
import { CHANNELS_OF_LINE } from '../operations/convolve/index.js'
import {
  type ArgumentKind,
  type ArgumentKinds,
  type ArgumentsOf,
  type Functions,
  GROUP,
  PRODUCT,
} from '../operations/define.js'
import { EXPERT_GROUPS } from '../operations/expert-matmul/index.js'
import { OPERATIONS } from '../operations/index.js'
import { GATED_ROOM } from '../operations/matmul/index.js'
import { blocksModule, SUMS_BYTES } from './block-kinds.js'

export { GROUP }

/** Kinds of matrices, by how they are stored and multiplied. */
export const F32 = 0
export const F16 = 1
export const Q4 = 2
export const BF16 = 3
/** Stored as Q4, multiplied with activations that are not rounded. */
export const Q4_EXACT = 4
/** Activations in 16 bits where the machine multiplies bytes too: what matrices with `WIDE_BLOCKS` are multiplied with. */
export const WIDE = 5
/** Those of `block-kinds.ts` among them. */
export type WeightKind = number

/** How keys and values are kept. */
const CACHE_TYPES: readonly CacheType[] = ['f32', 'f16', ...PACKED_CACHE_TYPES]
export const cacheCode = (type: CacheType): number => CACHE_TYPES.indexOf(type)

/** 4-bit weights, 8 rows by 32 columns: eight f32 scales, then four steps of 8 columns, two vectors of 4 rows each. */
export const Q4_BLOCK_BYTES = 160
/**
 * Quantised activations, 32 columns: f32 scale, i32 zero point correction, a mask of the lowest nibbles, the sums of both
 * halves in 16 bits, then the values. The mask is there because compilers load what they would make anew in every round of a loop.
 */
const X_HEADER_BYTES = 16
/** Eight activations: as bytes where the machine multiplies bytes, else as 16-bit integers. */
const X_STEP_BYTES = { relaxed: 8, simd: 16 }
/** Bytes of a block of 32 quantised activations. */
export const ACTIVATION_BLOCK_BYTES = {
  relaxed: X_HEADER_BYTES + 4 * X_STEP_BYTES.relaxed,
  simd: X_HEADER_BYTES + 4 * X_STEP_BYTES.simd,
}

/** In place of a unit. One thread does all of the operation: it is so little that telling others would take longer. */
export const SMALL = 0
/** Every thread does all of it for itself, once it takes part in the next operation. */
export const PRIVATE = -1
/** Of an operation, before its arguments: its code, unit, chunk and items. */
export const HEADER_WORDS = 4

/** The first bytes of memory stay unused, so that 0 is no valid place; then come the constants of the kernels' own. */
export const CONSTANTS = 64
/** Where the control block of the threads lies: behind them. */
export const CONTROL = 512

/** The control block of the threads, as `assembly/control.ts` lays it out: a line for each thread comes last. */
const SLICES = 768
const SLICE_BYTES = 128
/** Bytes into the line that a thread alone writes to: how many items of shared operations it has done. */
const WORK = 68
/** Where thread `thread` counts its items, in bytes into the control block. */
export const workAt = (thread: number): number => SLICES + thread * SLICE_BYTES + WORK
/** Bytes into it: whether thread 0 may sleep, and how often a thread looks before it does. */
export const MAY_SLEEP = 396
export const SPINS = 400
export const controlBytes = (threads: number): number => SLICES + threads * SLICE_BYTES

/** Functions that no operation of a pass has of its own. */
const OWN = {
  /** `prepared` is for a matrix of `kind`; `gap`: from one thread's outs to the next's. Items: rows. */
  norm: {
    ...{ x: 'pointer', xStride: 'pointer', weight: 'pointer', out: 'pointer', columns: 'i32', epsilon: 'f32' },
    ...{ prepared: 'pointer', kind: 'i32', gap: 'pointer' },
  },
  /** Activations in the form that a matrix of this kind is multiplied with. Items: rows. */
  prepare: {
    ...{ x: 'pointer', xStride: 'pointer', out: 'pointer', columns: 'i32', kind: 'i32', gap: 'pointer' },
  },
  /** Rows from `source` to `matrix`; `scales`: of 4 bits, which have them apart, in f16 if `half`. Items: groups of eight rows. */
  pack: {
    ...{ kind: 'i32', source: 'pointer', scales: 'pointer', half: 'bool', matrix: 'pointer', columns: 'i32' },
  },
} as const satisfies Functions

type Defined = typeof OPERATIONS
/** One of each operation that has `fields`, by its name. */
type NamedFunctions = {
  readonly [N in keyof Defined as keyof NonNullable<Defined[N]['fields']> extends never ? never : N]: NonNullable<
    Defined[N]['fields']
  >
}
type All = typeof OWN & NamedFunctions & NonNullable<(typeof OPERATIONS.matmul)['others']>

const namesOf = ([name, { fields, others }]: [
  string,
  { readonly fields?: ArgumentKinds; readonly others?: Functions },
]) => Object.entries({ ...(fields && { [name]: fields }), ...others })
/** What the folders' modules in AssemblyScript export, by the operation. */
const EXPORTED = Object.entries(OPERATIONS).map(
  (operation) => [operation[0], namesOf(operation).map(([name]) => name)] as const,
)
/** All functions of programs: those that no operation has of its own, then those of operations. */
export const FUNCTIONS = { ...OWN, ...Object.fromEntries(Object.entries(OPERATIONS).flatMap(namesOf)) } as All

export type FunctionName = keyof All
export type Arguments<N extends FunctionName> = ArgumentsOf<All[N]>

export const FUNCTION_NAMES = Object.keys(FUNCTIONS) as readonly FunctionName[]
const MOST_ARGUMENTS = Math.max(...FUNCTION_NAMES.map((name) => Object.keys(FUNCTIONS[name]).length))
/** All are as long as the longest, in whole vectors. */
export const OPERATION_WORDS = Math.ceil((HEADER_WORDS + MOST_ARGUMENTS) / 8) * 8

/** Constants of `./abi`: counts and codes, then bytes. */
const INTEGERS = {
  ...{ F32, F16, Q4, BF16, Q4_EXACT, WIDE, GROUP, SMALL, PRIVATE, GATED_ROOM, CHANNELS_OF_LINE, EXPERT_GROUPS },
  ...Object.fromEntries(GATES.map((gate) => [gate.toUpperCase(), gateCode(gate)])),
  ...Object.fromEntries(CACHE_TYPES.map((type, code) => [`CACHE_${type.toUpperCase()}`, code])),
  BLOCK: Q4_BLOCK,
  CACHE_BLOCK,
  PAGE_BITS: Math.log2(PAGE),
}
const SIZES = {
  SUMS_BYTES,
  ATTEND_ROOM,
  ...{ Q4_BLOCK_BYTES, X_HEADER_BYTES, SLICES, SLICE_BYTES, WORK, MAY_SLEEP, SPINS },
  X_STEP_BYTES_RELAXED: X_STEP_BYTES.relaxed,
  X_STEP_BYTES_SIMD: X_STEP_BYTES.simd,
  HEADER_BYTES: HEADER_WORDS * 4,
  OPERATION_BYTES: OPERATION_WORDS * 4,
}

/** Sets the words of an operation from `at` on: its code, then, behind what says how it is shared out, its arguments. */
export type Writers = {
  readonly [N in FunctionName]: (words: Int32Array, floats: Float32Array, at: number, args: Arguments<N>) => void
}

/** `WRITERS`, written out: a loop over names would take as long as a small model's layer. */
export function writersModule(): string {
  const writers = FUNCTION_NAMES.map((name, code) => {
    const lines = Object.entries(FUNCTIONS[name]).map(([field, type], i) => {
      const [into, sign] = [type === 'f32' ? 'floats' : 'words', type === 'bool' ? '+' : '']
      return `    ${into}[at + ${HEADER_WORDS + i}] = ${sign}args.${field}\n`
    })
    return `  ${name}(words, floats, at, args) {\n    words[at] = ${code}\n${lines.join('')}  },\n`
  })
  return `export const WRITERS: import('./abi.js').Writers = {\n${writers.join('')}}\n`
}

/** The module that `assembly/` imports. */
export function assemblyModule(): string {
  const constants = (type: string, values: Readonly<Record<string, number>>) =>
    Object.entries(values).map(([name, value]) => `export const ${name}: ${type} = ${value}\n`)
  const codes = Object.fromEntries(FUNCTION_NAMES.map((name, code) => [name.toUpperCase(), code]))
  const namespaces = Object.entries({ product: PRODUCT, ...FUNCTIONS }).map(([name, fields]) => {
    const readers = Object.entries(fields).map(([field, type], i) => READERS[type](field, i * 4))
    return `export namespace ${name[0]!.toUpperCase()}${name.slice(1)} {\n${readers.join('')}}\n`
  })
  const numbers = [...constants('i32', INTEGERS), ...constants('usize', SIZES), ...constants('i32', codes)]
  return [...numbers, blocksModule(), ...namespaces].join('')
}

/** The folder of an operation: its name as files are named. */
export const folderOf = (operation: string): string =>
  operation.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The module by which `assembly/operations.ts` runs those of operations. */
export function definedModule(): string {
  const names = EXPORTED.flatMap(([, names]) => names)
  const imports = EXPORTED.filter(([, names]) => names.length > 0).map(
    ([operation, names]) => `import { ${names.join(', ')} } from '../../operations/${folderOf(operation)}/assembly'\n`,
  )
  const lines = names.map((name) => `  if (code === ${name.toUpperCase()}) return ${name}(args, from, to, thread)\n`)
  return `import { ${names.map((name) => name.toUpperCase()).join(', ')} } from './abi'
${imports.join('')}export function runDefined(code: i32, args: usize, from: i32, to: i32, thread: i32): void {
${lines.join('')}}
`
}

const reader = (name: string, type: string, value: string) =>
  `  // @ts-ignore: decorator\n  @inline export function ${name}(args: usize): ${type} { return ${value} }\n`
const READERS: Readonly<Record<ArgumentKind, (name: string, at: number) => string>> = {
  i32: (name, at) => reader(name, 'i32', `load<i32>(args, ${at})`),
  f32: (name, at) => reader(name, 'f32', `load<f32>(args, ${at})`),
  bool: (name, at) => reader(name, 'bool', `load<i32>(args, ${at}) !== 0`),
  pointer: (name, at) => reader(name, 'usize', `<usize>load<u32>(args, ${at})`),
}
