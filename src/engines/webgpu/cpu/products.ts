/** Records products of matrices, and what goes before and after them: norms, rounding, gates. */
import { type Gate, type ProjectOptions, Q4_BLOCK } from '../contract.js'
import { expectFit, own } from './guards.js'
import * as op from './program.js'
import { type CpuActivations, type CpuMatrix, CpuVector } from './tensors.js'

/** So many values every thread prepares for itself. */
const PRIVATE = 8192
/** Gates and values that a thread computes before it joins them, in bytes: `assembly/gated.ts` fills no more. */
const GATED_ROOM = 16384
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
  prepare(at: number, stride: number, kind: op.WeightKind): void
}

/** Sixteen bits for each weight of a group of rows, where they are unpacked for several tokens. */
const unpackedBytes = (w: CpuMatrix, rows: number) => (w.kind === op.Q4 && rows >= 4 ? w.columns * op.GROUP * 2 : 0)

const NOWHERE = { at: 0, stride: 0 }

/** What of a pass recording takes. */
interface Recorder {
  readonly activationBlockBytes: number
  /** Begins an operation. */
  add(code: number, items: number, sharing?: op.Sharing): op.PassProgram
  /** Room of which each thread has its part, `stride` bytes apart, shared by those who name the same `rooms`. */
  perThread(bytes: number, rooms?: Map<number, number>): { at: number; stride: number }
}

export class Products {
  readonly #recorder: Recorder
  /** What threads prepare for themselves lasts longer than the rest of their room. */
  readonly #private = new Map<number, number>()
  /** The operation that filled a tensor, and could prepare it for a matrix in the same go. */
  #activated: Activated | undefined

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  /** Another operation follows. */
  forget(): void {
    this.#activated = undefined
  }

  record(w: CpuMatrix, source: CpuActivations, target: CpuActivations, rows: number, options: ProjectOptions): void {
    if (options.gated && options.add) throw new RangeError('A gated projection cannot be added.')
    const columns = options.gated ? w.rows / 2 : w.rows
    expectFit('Columns to project from', source.columns, w.columns)
    expectFit('Columns to project into', target.columns, columns)
    expectFit('Rows to project', Math.min(source.rows, target.rows), rows)
    const input = this.#prepare(source, w, rows, options.norm)
    if (options.gated && !options.bias && columns % Q4_BLOCK === 0) {
      this.#projectGated(w, input, target, columns, rows, options.gate)
      return
    }
    const halves = options.gated ? target.scratch('halves', w.rows * 4) : 0
    const sharing = { least: Math.ceil(4096 / w.groupBytes), unit: GROUPS_OF_LINE, by: op.shareOf(rows * w.bytes) }
    const operation = this.#recorder.add(op.MATMUL, w.groups, sharing)
    operation.word(w.kind).word(w.use()).word(input.at).word(input.stride)
    operation.word(options.gated ? halves : target.use()).word(options.gated ? w.rows * 4 : target.stride)
    operation
      .word(w.rows)
      .word(w.columns)
      .word(rows)
      .word(options.add ? 1 : 0)
    operation.word(options.bias ? own(options.bias, CpuVector).use() : 0)
    const bytes = unpackedBytes(w, rows)
    const unpacked = bytes > 0 ? this.#recorder.perThread(bytes) : NOWHERE
    operation.word(unpacked.at).word(unpacked.stride).word(input.gap)
    if (options.gated) this.#activate(halves, target, columns, rows, options.gate)
  }

  /** Product, activation and rounding in one. */
  #projectGated(
    w: CpuMatrix,
    x: Prepared,
    target: CpuActivations,
    columns: number,
    rows: number,
    gate: Gate | undefined,
  ): void {
    const operation = this.#recorder.add(op.GATED, columns / Q4_BLOCK)
    operation.word(w.kind).word(w.use()).word(x.at).word(x.stride).word(target.use()).word(target.stride)
    operation.word(columns).word(w.columns).word(rows).word(0).word(0).word(op.F32)
    const unpacked = unpackedBytes(w, rows)
    const room = this.#recorder.perThread(unpacked + Math.max(GATED_ROOM, rows * 2 * Q4_BLOCK * 4))
    operation.word(room.at).word(room.stride).word(unpacked).word(x.gap)
    operation.word(op.gateNumber(gate))
    this.#activated = { out: target, prepare: (at, stride, kind) => operation.amend(9, at, stride, kind) }
  }

  #activate(halves: number, target: CpuActivations, columns: number, rows: number, gate: Gate | undefined): void {
    const operation = this.#recorder
      .add(op.ACTIVATE, rows, op.few(rows * columns))
      .word(halves)
      .word(target.use())
    operation.word(target.stride).word(columns).word(0).word(op.F32)
    operation.word(op.gateNumber(gate))
    this.#activated = { out: target, prepare: (at, _stride, kind) => operation.amend(4, at, kind) }
  }

  /** Records what brings `x` into the form that `w` is multiplied with, normed if asked. */
  #prepare(x: CpuActivations, w: CpuMatrix, rows: number, norm: ProjectOptions['norm']): Prepared {
    const k = w.columns
    const plain = w.kind !== op.Q4 && w.kind !== op.F16
    if (!norm && plain) return { at: x.use(), stride: x.stride, gap: 0 }
    const stride = w.kind === op.Q4 ? Math.ceil(k / Q4_BLOCK) * this.#recorder.activationBlockBytes : k * 4
    if (!norm && this.#activated?.out === x && x.columns === k) {
      const at = x.scratch('prepared', stride)
      // What was just activated is prepared by the same operation, while it is at hand.
      this.#activated.prepare(at, stride, w.kind)
      return { at, stride, gap: 0 }
    }
    const room = this.#prepareRoom(x, rows, norm ? k * 4 : 0, plain ? 0 : stride)
    const at = plain ? room.normed : room.prepared
    if (norm) {
      const operation = this.#recorder.add(op.NORM, rows, room.sharing).word(x.use()).word(x.stride)
      operation.word(own(norm.weight, CpuVector).use()).word(room.normed).word(k).float(norm.epsilon)
      operation.word(at).word(w.kind).word(room.gap)
    } else {
      const operation = this.#recorder.add(op.PREPARE, rows, room.sharing).word(x.use()).word(x.stride)
      operation.word(at).word(k).word(w.kind).word(room.gap)
    }
    return { at, stride, gap: room.gap }
  }

  /**
   * A little is prepared by each thread for itself, which takes less time than to have it come over from another; more is
   * shared out.
   */
  #prepareRoom(x: CpuActivations, rows: number, normed: number, prepared: number) {
    if (rows * x.columns > PRIVATE) {
      const room = (purpose: 'normed' | 'prepared', bytes: number) => (bytes > 0 ? x.scratch(purpose, bytes) : 0)
      return { normed: room('normed', normed), prepared: room('prepared', prepared), gap: 0, sharing: {} }
    }
    const first = Math.ceil((rows * normed) / 64) * 64
    const { at, stride: gap } = this.#recorder.perThread(first + rows * prepared, this.#private)
    return { normed: at, prepared: at + first, gap, sharing: { by: 'each' } as const }
  }
}
