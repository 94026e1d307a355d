/**
 * An operation of the devices, whose folder has all of it: here what fits, its WGSL in `kernel.ts`, its AssemblyScript in
 * `assembly.ts`, and a case in `case.test-helper.ts` in which both devices must agree. A pass runs it: `pass.run(pool, x, out)`.
 */
import type { Batch, SampleRow, Span } from '../contract/batch.js'
import {
  type Activations,
  type KeyValueCache,
  type Matrix,
  PAGE,
  type Routing,
  type Sampler,
  type States,
  type Vector,
} from '../contract/tensors.js'
import type { StoredMatrix } from '../gpu/kernels/formats.js'
import type { Recorder } from '../gpu/kernels/kernel.js'
import type { HalfRows } from './matmul/to-half.js'
import type { PackedOrder, PackedRows } from './matmul/to-packed.js'

/** What a pass knows of its batch. */
export interface BatchShape {
  readonly spans: readonly Span[]
  readonly rows: number
  /** Positions of the longest sequence. */
  readonly longest: number
}

/** How an argument of the CPU's operation is handed over. Pointers are bytes into memory, strides and gaps bytes. */
export type ArgumentKind = 'i32' | 'f32' | 'bool' | 'pointer'
export type ArgumentKinds = Readonly<Record<string, ArgumentKind>>
/** None may be forgotten. */
export type ArgumentsOf<F extends ArgumentKinds> = { readonly [K in keyof F]: F[K] extends 'bool' ? boolean : number }

/** Functions, by their names: the arguments of each in the order in which they lie in memory. */
export type Functions = Readonly<Record<string, ArgumentKinds>>

export interface Operation<
  F extends ArgumentKinds,
  Operands extends readonly unknown[],
  // biome-ignore lint/complexity/noBannedTypes: it has no others
  Others extends Functions = {},
> {
  readonly name: string
  /** Refuses operands that do not fit: kernels check nothing. */
  fit(batch: BatchShape, ...operands: Operands): void
  /** How the names of its kernels begin. @default with its own */
  readonly kernels?: readonly string[]
  /** Dispatches its kernels. */
  gpu(pass: GpuRecorder, ...operands: NoInfer<Operands>): void
  /** The arguments of its function in AssemblyScript, which has its name. @default it has none */
  readonly fields?: F
  /** More functions in AssemblyScript, for some of its operands. */
  readonly others?: Others
  /**
   * Work of its functions, in order. Made for each step: arguments are written out,
   * since objects spread into one another take Node 20 four times as long.
   */
  cpu(
    pass: CpuRecorder,
    ...operands: NoInfer<Operands>
    // biome-ignore lint/suspicious/noConfusingVoidType: an operation without a function returns nothing
  ): WorkOf<F, Others> | Iterable<WorkOf<F, Others>> | void
  /** What a pass takes of it, for whoever watches. @default nothing to speak of */
  cost?(batch: BatchShape, ...operands: NoInfer<Operands>): Cost
}

export interface Cost {
  /** Bytes that are read of weights, of keys and values, and of logits. */
  readonly weights?: number
  readonly cache?: number
  readonly logits?: number
  readonly multiplications?: number
}

/** What the threads share out. */
interface Work<F extends ArgumentKinds> {
  readonly args: ArgumentsOf<F>
  /** Independent of one another. */
  readonly items: number
  /** Of few, one thread does all. @default so many that it does not */
  readonly values?: number
  /** Items that are not worth splitting. @default 1 */
  readonly least?: number
  /** Slices begin at multiples of it, so that no two threads write to the same line of memory. @default 1 */
  readonly unit?: number
  /**
   * What it fills, and can bring into the form of a product that comes next, while it is at hand: its arguments `prepared`,
   * `preparedStride` and `preparedKind`, as far as it has them, are then set anew.
   */
  readonly fills?: Activations
}

type WorkOf<F extends ArgumentKinds, Others extends Functions> =
  | (Work<F> & { readonly of?: undefined })
  | { readonly [N in keyof Others]: Work<Others[N]> & { readonly of: N } }[keyof Others]

/** Dispatches that wait for those that come next, which may do the same by the way. */
export interface Postponed {
  /** All that decides what they are. */
  readonly facts: readonly unknown[]
  record(pass: GpuRecorder): void
}

export interface SamplerBuffers {
  readonly job: GPUBuffer
  readonly values: GPUBuffer
  readonly parts: GPUBuffer
  readonly races: GPUBuffer
  readonly slots: GPUBuffer
  readonly results: GPUBuffer
}

export interface GpuRecorder extends Recorder {
  readonly spans: number
  /** Every sequence has one row. */
  readonly single: boolean
  buffer(tensor: Activations | Vector | Routing): GPUBuffer
  /** Keys and values of a layer. */
  layer(cache: KeyValueCache, index: number): GPUBuffer
  state(states: States, index: number): GPUBuffer
  /** Room for the same rows, normed, in f16, and in 8 bits. */
  normed(x: Activations): GPUBuffer
  inHalf(x: Activations): HalfRows
  packed(x: Activations, order: PackedOrder): PackedRows
  /** Room for intermediate results beside an output; its contents last until the next call. */
  scratch(out: Activations, bytes: number): GPUBuffer
  /** How many rows, of those asked for; `head`: they are those that were gathered. @default all of the pass */
  counted(rows?: number): { readonly count: number; readonly head: boolean }
  /** So many multiplications come: a long pass goes to the GPU in pieces. */
  weigh(multiplications: number): void
  /** `gatheredRow` gives these rows then, or else the first of each span. A pass gathers in one way. */
  gather(rows?: Int32Array): void
  parts(matrix: Matrix): readonly StoredMatrix[]
  /** Whether gates lie beside their values in its parts. */
  isTogether(matrix: Matrix): boolean
  /** Which token stands in each slot of the sampler. */
  readonly slots: GPUBuffer
  /** Where the pass leaves what it samples, once. */
  sampling(sampler: Sampler, rows: readonly SampleRow[]): SamplerBuffers
  /** What `record` dispatches, or what it dispatched for this owner when all the facts were as now. */
  repeat(owner: object, facts: readonly unknown[], record: () => void): void
  /** What waits. What does it by the way drops it. */
  readonly postponed: Postponed | undefined
  postpone(work: Postponed): void
  dropPostponed(): void
}

/** What all products of the CPU begin with: `rows` is what a row of `y` has of the matrix's. */
export const PRODUCT = {
  ...{ kind: 'i32', matrix: 'pointer', x: 'pointer', xStride: 'pointer', y: 'pointer', yStride: 'pointer' },
  ...{ rows: 'i32', columns: 'i32', tokens: 'i32' },
} as const satisfies ArgumentKinds

/** Rows of a matrix that it stores and multiplies together. */
export const GROUP = 8

/** See `topKExperts`. */
export type RoutingList = 'active' | 'list' | 'firsts' | 'cursors' | 'keys' | 'rowOf' | 'placeOf' | 'weights'

/** Rows of a matrix that are of one form, as they are multiplied, and in which form their activations are. */
export interface BandOfMatrix {
  readonly kind: number
  readonly form: number
  readonly at: number
  /** Which of the matrix's rows comes first, and how many there are. */
  readonly first: number
  readonly rows: number
  /** Of eight rows, which lie together. */
  readonly groups: number
  readonly groupBytes: number
  /** Room that a thread needs beside it. */
  readonly roomBytes: number
}

export interface Preparing {
  readonly norm?: RmsNorm | undefined
  /** It lasts until the same are prepared again. @default until the next operation */
  readonly shared?: boolean
}

/** Activations in the form that a matrix is multiplied with. */
export interface Prepared {
  readonly at: number
  readonly stride: number
  /** Bytes from one thread's to the next's; 0: all have the same. */
  readonly gap: number
}

/** The product is taken of x / rms(x) * weight, rms(x) = sqrt(mean(x^2) + epsilon), instead of x. */
export interface RmsNorm {
  readonly weight: Vector
  readonly epsilon: number
}

export interface CpuRecorder extends BatchShape {
  /** Threads that share out items, at most. */
  readonly threads: number
  /** What `assembly/spans.ts` reads of them. */
  readonly spanWords: number
  /** Where it lies. */
  at(tensor: Activations | Vector): number
  stride(x: Activations): number
  state(states: States, index: number): { readonly state: number; readonly slotBytes: number }
  /** Where a matrix lies of which rows are read, and room in which those of blocks are unfolded. */
  table(matrix: Matrix): Record<'kind' | 'matrix' | 'room' | 'roomGap', number>
  /** Where the tokens of the rows are, their positions, or their places. */
  ids(by: 'tokens' | 'positions' | 'places'): number
  /** A layer of a cache, the page of each row in it, and the list of pages of each row's sequence. */
  cached(
    cache: KeyValueCache,
    layer: number,
    writes: boolean,
  ): Record<'keys' | 'values' | 'keyHeadBytes' | 'valueHeadBytes' | 'kept' | 'overflows' | 'pages' | 'lists', number>
  /** Where a routing's lists are, by their names. */
  routing(routing: Routing): Readonly<Record<RoutingList, number>>
  /** The bands of a matrix, as they are multiplied with so many rows of activations. */
  bands(matrix: Matrix, rows: number): readonly BandOfMatrix[]
  /** Brings activations into a form in which they are multiplied. */
  prepared(x: Activations, columns: number, form: number, rows: number, how: Preparing): Prepared
  /** The same, with a row for each place. */
  atPlaces(
    x: Activations,
    columns: number,
    form: number,
    rows: number,
    from: 'rows' | 'places',
    routing: Routing,
  ): { readonly at: number; readonly stride: number }
  /** Where these values are then, as long as the pass lives. */
  put(values: Int32Array): number
  /** What is made once for all operations of the pass that name the same key. */
  once<T>(key: string, make: () => T): T
  /** Room of which each thread has its part, `stride` bytes apart; one for all operations that need as much. */
  perThread(bytes: number): { readonly at: number; readonly stride: number }
  /** Room beside an output, for so many bytes of each of its rows. */
  scratch(out: Activations, bytesPerRow: number): number
  /** Samples between what comes before and what comes after, once in a pass. */
  sample(sampler: Sampler, logits: Activations, rows: readonly SampleRow[]): void
}

export const defineOperation = <
  Operands extends readonly unknown[],
  // biome-ignore lint/complexity/noBannedTypes: it has none
  const F extends ArgumentKinds = {},
  // biome-ignore lint/complexity/noBannedTypes: it has no others
  const Others extends Functions = {},
>(
  operation: Operation<F, Operands, Others>,
): Operation<F, Operands, Others> => operation

export function atLeast(name: string, actual: number, least: number): void {
  if (actual < least) throw new RangeError(`${name}: ${actual} where at least ${least} are needed.`)
}

export function bothHave(name: string, x: Activations, out: Activations, rows: number): void {
  atLeast(name, Math.min(x.rows, out.rows), rows)
}

export function stateFits({ spans }: BatchShape, { shape }: States, index: number, values: number): void {
  atLeast('Values of a state', shape.sizes[index] ?? 0, values)
  for (const { state } of spans) {
    if (!state) throw new RangeError('A span has no slot for its states.')
    atLeast('Slots', shape.slots, Math.max(state.from, state.to, ...(state.each ?? [])) + 1)
  }
}

/** Caches that slide need to know where their windows lie. */
export function windowsFit({ spans }: BatchShape, { shape }: KeyValueCache): void {
  if (!shape.sliding) return
  for (const { windowPages, position, tokens } of spans) {
    atLeast('Pages of a window', (windowPages?.length ?? 0) * PAGE, position + tokens.length)
  }
}

/** What is written into rows is as wide as they are. */
export function writeFits(out: Activations, values: Float32Array): void {
  atLeast('Values to write into', out.rows * out.columns, values.length)
  if (values.length % out.columns !== 0) throw new RangeError(`${values.length} values for rows of ${out.columns}.`)
}

export function batchShapeOf({ spans }: Batch): BatchShape {
  let rows = 0
  let longest = 0
  for (const { tokens, position, pages } of spans) {
    const end = position + tokens.length
    atLeast('Pages of a sequence', pages.length * PAGE, end)
    rows += tokens.length
    longest = Math.max(longest, end)
  }
  return { spans, rows, longest }
}

/**
 * What a gate goes through. `gelu` is the one that is computed by tanh, `gelu_erf` the exact one; `relu2` is relu times
 * itself. `clamped` is gpt-oss's: of at most 7, x * sigmoid(1.702 x); what it is multiplied with lies between -7 and 7, and
 * gets one more.
 */
export const GATES = ['silu', 'gelu', 'gelu_erf', 'sigmoid', 'relu', 'relu2', 'clamped'] as const
export type Gate = (typeof GATES)[number]
/** As the CPU's kernels know it; 0 is none. */
export const gateCode = (gate: Gate): number => GATES.indexOf(gate) + 1
