/** What products of matrices begin with: activations in the form in which they are multiplied. */
import type { Prepared, Preparing } from '../operations/define.js'
import * as abi from './abi.js'
import { activationBytes } from './matrix.js'
import type { CpuPassHost } from './pass-host.js'
import { type Sharing, shareOf } from './program.js'
import type { CpuRouting } from './routing.js'
import { type CpuActivations, CpuVector, own } from './tensors.js'

/** So many values every thread prepares for itself. */
const PRIVATE = 8192

/** What products need of their pass. */
interface ProductsPass {
  add<N extends abi.FunctionName>(name: N, items: number, args: abi.Arguments<N>, sharing?: Sharing): void
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
  readonly #host: CpuPassHost
  readonly #pass: ProductsPass
  /** What threads prepare for themselves lasts longer than the rest of their room. */
  readonly #private = new Map<number, number>()
  /** What the operation before has filled: see `Work.fills`. */
  filling: Filling | undefined

  constructor(host: CpuPassHost, pass: ProductsPass) {
    this.#host = host
    this.#pass = pass
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
    this.#pass.add('gatherRows', places, args, { by: shareOf((places * bytes) / 4) })
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
    if (!norm && this.filling?.out === x && x.columns === columns) {
      const { name, args } = this.filling
      const at = x.scratch('prepared', stride)
      const anew = { ...args, prepared: at, preparedStride: stride, preparedKind: form }
      this.#host.program.amend(name, anew as unknown as abi.Arguments<typeof name>)
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
      this.#pass.add('norm', rows, args, room.sharing)
    } else this.#pass.add('prepare', rows, { x: from, xStride, columns, kind: form, gap, out: at }, room.sharing)
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
    const { at, stride: gap } = this.#pass.perThread(first + rows * prepared, this.#private)
    return { normed: at, prepared: at + first, gap, sharing: { by: 'each' } as const }
  }
}
