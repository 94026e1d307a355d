/** What products of matrices begin with: as which a matrix is multiplied, and activations in the form for it. */
import type { BandOfMatrix, Prepared, Preparing } from '../operations/define.js'
import * as abi from './abi.js'
import { activationBytes, activationsOf, type CpuMatrix, unpackingRoom } from './matrix.js'
import type { ProductTrial } from './product-trial.js'
import { few, type Sharing } from './program.js'
import type { CpuRouting } from './routing.js'
import { type CpuActivations, CpuVector, own } from './tensors.js'
import type { KernelVariant } from './wasm.js'

/** So many values every thread prepares for itself. */
const PRIVATE = 8192

/** What products need of their pass. */
interface ProductsHost {
  readonly variant: KernelVariant
  readonly trial: ProductTrial
  add<N extends abi.FunctionName>(name: N, items: number, args: abi.Arguments<N>, sharing?: Sharing): void
  /** Arguments of the last function. */
  amend<N extends abi.FunctionName>(name: N, args: abi.Arguments<N>): void
  /** Shared by those who name the same `rooms`. */
  perThread(bytes: number, rooms: Map<number, number>): { readonly at: number; readonly stride: number }
}

/** The function that filled a tensor last, and could prepare it for a matrix in the same go. */
interface Filling {
  readonly out: CpuActivations
  readonly name: abi.FunctionName
  readonly args: object
}

export class Products {
  readonly #host: ProductsHost
  /** What threads prepare for themselves lasts longer than the rest of their room. */
  readonly #private = new Map<number, number>()
  #filling: Filling | undefined

  constructor(host: ProductsHost) {
    this.#host = host
  }

  /** See `Work.fills`. */
  filled(filling: Filling): void {
    this.#filling = filling
  }

  /** Another operation follows. */
  forget(): void {
    this.#filling = undefined
  }

  bands(w: CpuMatrix, rows: number): readonly BandOfMatrix[] {
    w.use()
    return w.bands.map(({ kind: stored, at, first, rows: own, groups, groupBytes }) => {
      const kind = this.#host.trial.kindFor(stored, rows)
      const roomBytes = unpackingRoom(kind, w.columns, rows)
      return { kind, form: activationsOf(kind), at, first, rows: own, groups, groupBytes, roomBytes }
    })
  }

  atPlaces(
    x: CpuActivations,
    columns: number,
    form: abi.WeightKind,
    rows: number,
    from: 'rows' | 'places',
    routing: CpuRouting,
  ): Prepared {
    const places = rows * routing.shape.chosen
    const prepared = this.prepared(x, columns, form, from === 'rows' ? rows : places, { shared: true })
    if (from === 'places') return prepared
    const bytes = Math.min(prepared.stride, activationBytes(form, columns, this.#host.variant))
    const at = routing.room(bytes)
    const args = {
      x: prepared.at,
      xStride: prepared.stride,
      rows: routing.lists().rowOf,
      out: at,
      outStride: bytes,
      bytes,
    }
    this.#host.add('gatherRows', places, args, few((places * bytes) / 4))
    return { at, stride: bytes, gap: 0 }
  }

  prepared(
    x: CpuActivations,
    columns: number,
    form: abi.WeightKind,
    rows: number,
    { norm, shared = false }: Preparing,
  ): Prepared {
    const plain = form === abi.F32 || form === abi.BF16 || form === abi.Q4_EXACT
    if (!norm && plain) return { at: x.use(), stride: x.stride, gap: 0 }
    const stride = activationBytes(form, columns, this.#host.variant)
    if (!norm && this.#filling?.out === x && x.columns === columns) {
      const { name, args } = this.#filling
      const at = x.scratch('prepared', stride)
      const anew = { ...args, prepared: at, preparedStride: stride, preparedKind: form }
      this.#host.amend(name, anew as unknown as abi.Arguments<typeof name>)
      return { at, stride, gap: 0 }
    }
    const room = this.#room(x, rows, norm ? columns * 4 : 0, plain ? 0 : stride, shared)
    const { gap } = room
    const at = plain ? room.normed : room.prepared
    const from = x.use()
    const xStride = x.stride
    if (norm) {
      const weight = own(norm.weight, CpuVector).use()
      const { epsilon } = norm
      const args = { x: from, xStride, columns, kind: form, gap, weight, epsilon, out: room.normed, prepared: at }
      this.#host.add('norm', rows, args, room.sharing)
    } else this.#host.add('prepare', rows, { x: from, xStride, columns, kind: form, gap, out: at }, room.sharing)
    return { at, stride, gap }
  }

  /**
   * A little is prepared by each thread for itself, which takes less time than to have it come over from another; more is
   * shared out.
   */
  #room(x: CpuActivations, rows: number, normed: number, prepared: number, shared: boolean) {
    if (shared || rows * x.columns > PRIVATE) {
      const room = (purpose: 'normed' | 'prepared', bytes: number) => (bytes > 0 ? x.scratch(purpose, bytes) : 0)
      return { normed: room('normed', normed), prepared: room('prepared', prepared), gap: 0, sharing: {} }
    }
    const first = Math.ceil((rows * normed) / 64) * 64
    const { at, stride: gap } = this.#host.perThread(first + rows * prepared, this.#private)
    return { normed: at, prepared: at + first, gap, sharing: { by: 'each' } as const }
  }
}
