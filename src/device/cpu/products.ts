/** Records products of matrices, and what goes before and after them: norms, rounding, gates. */
import { type Gate, gateCode, type ProjectOptions, Q4_BLOCK } from '../contract.js'
import * as abi from './abi.js'
import { activationBytes, activationsOf, type Band, type CpuMatrix, roomOf } from './matrix.js'
import type { PassRecorder } from './pass-recorder.js'
import type { ProductTrial } from './product-trial.js'
import { few, shareOf } from './program.js'
import type { CpuRouting } from './routing.js'
import { type CpuActivations, CpuVector, own } from './tensors.js'
import type { KernelVariant } from './wasm.js'

/** So many values every thread prepares for itself. */
const PRIVATE = 8192
/** Groups of eight rows whose results make a line of memory. */
const GROUPS_OF_LINE = 2

/** Activations in the form that a matrix is multiplied with. */
interface Prepared {
  readonly at: number
  readonly stride: number
  /** Bytes from one thread's to the next's; 0: all have the same. */
  readonly gap: number
}

interface Activated {
  readonly out: CpuActivations
  prepare(at: number, stride: number, kind: abi.WeightKind): void
}

/** Where a product goes, of so many rows of activations. */
interface ProductOut {
  readonly y: number
  readonly yStride: number
  readonly rows: number
  readonly bias: number
  readonly add: boolean
}

const NOWHERE = { at: 0, stride: 0 }

/** What products need of their device and its program. */
interface ProductsHost {
  readonly variant: KernelVariant
  readonly trial: ProductTrial
  /** Arguments of the last operation. */
  amend<N extends abi.OperationName>(name: N, args: abi.Arguments<N>): void
}

export class Products {
  readonly #recorder: Pick<PassRecorder, 'add' | 'perThread'>
  readonly #host: ProductsHost
  /** What threads prepare for themselves lasts longer than the rest of their room. */
  readonly #private = new Map<number, number>()
  /** The operation that filled a tensor, and could prepare it for a matrix in the same go. */
  #activated: Activated | undefined

  constructor(recorder: Pick<PassRecorder, 'add' | 'perThread'>, host: ProductsHost) {
    this.#recorder = recorder
    this.#host = host
  }

  /** Another operation follows. */
  forget(): void {
    this.#activated = undefined
  }

  record(w: CpuMatrix, source: CpuActivations, target: CpuActivations, rows: number, options: ProjectOptions): void {
    const columns = options.gated ? w.rows / 2 : w.rows
    w.use()
    if (options.gated && !options.bias && columns % Q4_BLOCK === 0 && w.bands.length === 1) {
      const kind = this.#kindOf(w.whole, rows)
      const input = this.#prepare(source, w.columns, activationsOf(kind), rows, options.norm, false)
      this.#projectGated(w, kind, input, target, columns, rows, options.gate)
      return
    }
    const halves = options.gated ? target.scratch('halves', w.rows * 4) : 0
    const y = options.gated ? halves : target.use()
    const yStride = options.gated ? w.rows * 4 : target.stride
    const bias = options.bias ? own(options.bias, CpuVector).use() : 0
    const out = { y, yStride, rows, bias, add: options.add === true }
    if (w.bands.length > 1) this.#multiplyBands(w, source, options.norm, out)
    else {
      const x = this.#prepare(source, w.columns, activationsOf(this.#kindOf(w.whole, rows)), rows, options.norm, false)
      this.#multiply(w, w.whole, x, out)
    }
    if (options.gated) this.#activate(halves, target, columns, rows, options.gate)
  }

  /** See `CpuRecorder`. */
  band(w: CpuMatrix, rows: { readonly first: number; readonly rows: number }, count: number) {
    w.use()
    const { at, first, ...band } = bandOf(w, rows)
    const kind = this.#kindOf(band, count)
    const bytes = roomOf(kind, w.columns, count)
    const { at: room, stride: roomGap } = bytes > 0 ? this.#recorder.perThread(bytes) : NOWHERE
    return { kind, form: activationsOf(kind), at, first, room, roomGap }
  }

  /** See `CpuRecorder`. */
  atPlaces(
    x: CpuActivations,
    columns: number,
    form: abi.WeightKind,
    rows: number,
    from: 'rows' | 'places',
    routing: CpuRouting,
  ): Prepared {
    const places = rows * routing.shape.chosen
    const prepared = this.#prepare(x, columns, form, from === 'rows' ? rows : places, undefined, true)
    if (from === 'places') return prepared
    const bytes = Math.min(prepared.stride, activationBytes(form, columns, this.#host.variant))
    const at = routing.room(bytes)
    const args = {
      ...{ x: prepared.at, xStride: prepared.stride, rows: routing.lists().rowOf },
      ...{ out: at, outStride: bytes, bytes },
    }
    this.#recorder.add('pick', places, args, few((places * bytes) / 4))
    return { at, stride: bytes, gap: 0 }
  }

  /** What a thread prepares for itself lasts until the next operation: bands come after all that they are multiplied with. */
  #multiplyBands(w: CpuMatrix, source: CpuActivations, norm: ProjectOptions['norm'], out: ProductOut): void {
    const inputs = new Map<abi.WeightKind, Prepared>()
    const formOf = (band: Band) => activationsOf(this.#kindOf(band, out.rows))
    for (const band of w.bands) {
      const form = formOf(band)
      if (!inputs.has(form)) inputs.set(form, this.#prepare(source, w.columns, form, out.rows, norm, true))
    }
    for (const band of w.bands) this.#multiply(w, band, inputs.get(formOf(band))!, out)
  }

  /** As which it is multiplied with so many rows. */
  #kindOf({ kind }: Pick<Band, 'kind'>, rows: number): abi.WeightKind {
    return this.#host.trial.kindFor(kind, rows)
  }

  #multiply(w: CpuMatrix, band: Band, x: Prepared, { y, yStride, rows, bias, add }: ProductOut): void {
    const { at, first, rows: own, groups, groupBytes } = band
    const kind = this.#kindOf(band, rows)
    const by = shareOf(rows * groups * groupBytes)
    const sharing = { least: Math.ceil(4096 / groupBytes), unit: GROUPS_OF_LINE, by }
    const bytes = roomOf(kind, w.columns, rows)
    const unpacked = bytes > 0 ? this.#recorder.perThread(bytes) : NOWHERE
    const args = {
      kind,
      matrix: at,
      x: x.at,
      xStride: x.stride,
      xGap: x.gap,
      columns: w.columns,
      tokens: rows,
      y: y + 4 * first,
      yStride,
      rows: own,
      add,
      bias: bias && bias + 4 * first,
      unpacked: unpacked.at,
      unpackedGap: unpacked.stride,
    }
    this.#recorder.add('matmul', groups, args, sharing)
  }

  /** Product, activation and rounding in one. */
  #projectGated(
    w: CpuMatrix,
    kind: abi.WeightKind,
    x: Prepared,
    target: CpuActivations,
    columns: number,
    rows: number,
    gate: Gate = 'silu',
  ): void {
    const { at } = w.whole
    const unpackedBytesOfGroup = roomOf(kind, w.columns, rows)
    const room = this.#recorder.perThread(unpackedBytesOfGroup + Math.max(abi.GATED_ROOM, rows * 2 * Q4_BLOCK * 4))
    const args = {
      kind,
      matrix: at,
      x: x.at,
      xStride: x.stride,
      xGap: x.gap,
      columns: w.columns,
      tokens: rows,
      y: target.use(),
      yStride: target.stride,
      rows: columns,
      gate: gateCode(gate),
      prepared: 0,
      preparedStride: 0,
      preparedKind: abi.F32 as abi.WeightKind,
      room: room.at,
      roomGap: room.stride,
      unpackedBytes: unpackedBytesOfGroup,
    }
    this.#recorder.add('gated', columns / Q4_BLOCK, args)
    this.#activated = {
      out: target,
      prepare: (at, stride, kind) => {
        args.prepared = at
        args.preparedStride = stride
        args.preparedKind = kind
        this.#host.amend('gated', args)
      },
    }
  }

  #activate(halves: number, target: CpuActivations, columns: number, rows: number, gate: Gate = 'silu'): void {
    const args = {
      x: halves,
      out: target.use(),
      outStride: target.stride,
      columns,
      gate: gateCode(gate),
      prepared: 0,
      kind: abi.F32 as abi.WeightKind,
    }
    this.#recorder.add('activate', rows, args, few(rows * columns))
    this.#activated = {
      out: target,
      prepare: (at, _stride, kind) => {
        args.prepared = at
        args.kind = kind
        this.#host.amend('activate', args)
      },
    }
  }

  /** Records what brings `x` into a form in which it is multiplied, normed if asked. */
  #prepare(
    x: CpuActivations,
    k: number,
    form: abi.WeightKind,
    rows: number,
    norm: ProjectOptions['norm'],
    shared: boolean,
  ): Prepared {
    const plain = form === abi.F32 || form === abi.BF16 || form === abi.Q4_EXACT
    if (!norm && plain) return { at: x.use(), stride: x.stride, gap: 0 }
    const stride = activationBytes(form, k, this.#host.variant)
    if (!norm && this.#activated?.out === x && x.columns === k) {
      const at = x.scratch('prepared', stride)
      // What was just activated is prepared by the same operation, while it is at hand.
      this.#activated.prepare(at, stride, form)
      return { at, stride, gap: 0 }
    }
    const room = this.#prepareRoom(x, rows, norm ? k * 4 : 0, plain ? 0 : stride, shared)
    const at = plain ? room.normed : room.prepared
    const from = x.use()
    if (norm) {
      const { weight, epsilon } = norm
      const gain = own(weight, CpuVector).use()
      const args = {
        x: from,
        xStride: x.stride,
        columns: k,
        kind: form,
        gap: room.gap,
        weight: gain,
        epsilon,
        out: room.normed,
        prepared: at,
      }
      this.#recorder.add('norm', rows, args, room.sharing)
    } else {
      const args = { x: from, xStride: x.stride, columns: k, kind: form, gap: room.gap, out: at }
      this.#recorder.add('prepare', rows, args, room.sharing)
    }
    return { at, stride, gap: room.gap }
  }

  /**
   * A little is prepared by each thread for itself, which takes less time than to have it come over from another; more is
   * shared out.
   */
  #prepareRoom(x: CpuActivations, rows: number, normed: number, prepared: number, shared: boolean) {
    if (shared || rows * x.columns > PRIVATE) {
      const room = (purpose: 'normed' | 'prepared', bytes: number) => (bytes > 0 ? x.scratch(purpose, bytes) : 0)
      return { normed: room('normed', normed), prepared: room('prepared', prepared), gap: 0, sharing: {} }
    }
    const first = Math.ceil((rows * normed) / 64) * 64
    const { at, stride: gap } = this.#recorder.perThread(first + rows * prepared, this.#private)
    return { normed: at, prepared: at + first, gap, sharing: { by: 'each' } as const }
  }
}

/** The band that has these rows, and all of them: experts' halves lie in one. */
function bandOf({ bands }: CpuMatrix, { first, rows }: { readonly first: number; readonly rows: number }): Band {
  const band = bands.find((each) => each.first <= first && first + rows <= each.first + each.rows)
  if (!band) throw new TypeError('The matrices of experts, or their halves, have rows of one form.')
  return band
}
