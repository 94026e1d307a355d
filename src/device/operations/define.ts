/**
 * An operation of the devices, whose folder has all of it: here what fits, its WGSL in `kernel.ts`, its AssemblyScript in
 * `assembly.ts`, and a case in `case.test-helper.ts` in which both devices must agree. A pass runs it: `pass.run(pool, x, out)`.
 */
import type { Span } from '../contract/batch.js'
import type { Activations, Matrix, Routing, States, Vector } from '../contract/tensors.js'
import type { StoredMatrix } from '../gpu/kernels/formats.js'
import type { Recorder } from '../gpu/kernels/kernel.js'

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

export interface Operation<F extends ArgumentKinds, Operands extends readonly unknown[]> {
  readonly name: string
  /** Refuses operands that do not fit: kernels check nothing. */
  fit(batch: BatchShape, ...operands: Operands): void
  /** Dispatches its kernels, whose names begin with its own. */
  gpu(pass: GpuRecorder, ...operands: NoInfer<Operands>): void
  /** The arguments of its function in AssemblyScript, in the order in which they lie in memory. */
  readonly fields: F
  cpu(pass: CpuRecorder, ...operands: NoInfer<Operands>): Work<F> | Iterable<Work<F>>
  /** What a pass of so many rows takes of it, for whoever watches: bytes of weights. @default nothing to speak of */
  cost?(rows: number, ...operands: NoInfer<Operands>): { readonly weights: number; readonly multiplications?: number }
}

/** What the threads share out. */
interface Work<F extends ArgumentKinds> {
  readonly args: ArgumentsOf<F>
  /** Independent of one another. */
  readonly items: number
  /** Of few, one thread does all. @default so many that it does not */
  readonly values?: number
}

export interface GpuRecorder extends Recorder {
  readonly spans: number
  buffer(tensor: Activations | Vector | Routing): GPUBuffer
  state(states: States, index: number): GPUBuffer
  /** How many rows, of those asked for; `head`: they are those that were picked. @default all of the pass */
  counted(rows?: number): { readonly count: number; readonly head: boolean }
  /** So many multiplications come: a long pass goes to the GPU in pieces. */
  weigh(multiplications: number): void
  /** `pickOf` are then these rows, or else the first of each span. A pass picks in one way. */
  pick(rows?: Int32Array): void
  parts(matrix: Matrix): readonly StoredMatrix[]
  /** Which token stands in each slot of the sampler. */
  readonly slots: GPUBuffer
}

/** What all products of the CPU begin with: `rows` is what a row of `y` has of the matrix's. */
export const PRODUCT = {
  ...{ kind: 'i32', matrix: 'pointer', x: 'pointer', xStride: 'pointer', y: 'pointer', yStride: 'pointer' },
  ...{ rows: 'i32', columns: 'i32', tokens: 'i32' },
} as const satisfies ArgumentKinds

/** Rows of a matrix that it stores and multiplies together. */
export const GROUP = 8

/** See `route`. */
export type RoutingList = 'active' | 'list' | 'firsts' | 'cursors' | 'keys' | 'rowOf' | 'placeOf' | 'weights'

type BandOfMatrix = Readonly<Record<'kind' | 'form' | 'at' | 'first' | 'room' | 'roomGap', number>>

export interface CpuRecorder {
  readonly rows: number
  readonly spans: readonly Span[]
  /** What `assembly/spans.ts` reads of them. */
  readonly spanWords: number
  /** Where it lies. */
  at(tensor: Activations | Vector): number
  stride(x: Activations): number
  state(states: States, index: number): { readonly state: number; readonly slotBytes: number }
  /** Where a matrix lies of which rows are read, and room in which those of blocks are unfolded. */
  table(matrix: Matrix): Record<'kind' | 'matrix' | 'room' | 'roomGap', number>
  /** Where the tokens of the rows are, or their places. */
  ids(by: 'tokens' | 'places'): number
  /** Where a routing's lists are, by their names. */
  routing(routing: Routing): Readonly<Record<RoutingList, number>>
  /** Rows of a matrix that are of one form, as they are multiplied with so many rows of activations, and room for that. */
  band(matrix: Matrix, rows: { readonly first: number; readonly rows: number }, count: number): BandOfMatrix
  /** Activations in a form in which they are multiplied, a row for each place. */
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
  /** Room of which each thread has its part, `stride` bytes apart. */
  perThread(bytes: number): { readonly at: number; readonly stride: number }
}

export const defineOperation = <const F extends ArgumentKinds, Operands extends readonly unknown[]>(
  operation: Operation<F, Operands>,
): Operation<F, Operands> => operation

export function atLeast(what: string, actual: number, least: number): void {
  if (actual < least) throw new RangeError(`${what}: ${actual} where at least ${least} are needed.`)
}

export function bothHave(what: string, x: Activations, out: Activations, rows: number): void {
  atLeast(what, Math.min(x.rows, out.rows), rows)
}

export function stateFits({ spans }: BatchShape, { shape }: States, index: number, values: number): void {
  atLeast('Values of a state', shape.sizes[index] ?? 0, values)
  for (const { state } of spans) {
    if (!state) throw new RangeError('A span has no slot for its states.')
    atLeast('Slots', shape.slots, Math.max(state.from, state.to, ...(state.each ?? [])) + 1)
  }
}
