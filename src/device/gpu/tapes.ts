/**
 * What operations were recorded as, to be repeated: a step of decoding asks for the same dispatches as the one before,
 * and finding out which takes longer than asking for them.
 */
import type { Kernel } from './kernels/kernel.js'

/** A pipeline with its buffers, as long as none of them is gone. */
export interface Bound {
  readonly pipeline: GPUComputePipeline
  readonly group: GPUBindGroup
  /** See `Gpu.generation`. */
  readonly generation: number
}

export interface Dispatch {
  readonly kernel: Kernel
  readonly buffers: readonly GPUBuffer[]
  readonly x: number
  readonly y: number
  readonly z: number
  /** Found when it is first run. */
  bound?: Bound
}

export interface Tape {
  /** All that decides what is recorded. */
  readonly facts: readonly unknown[]
  readonly dispatches: Dispatch[]
}

/** What all layers of a pass were recorded as, with what they came to beside dispatches. */
export class PassTape implements Tape {
  facts: readonly unknown[] = []
  readonly dispatches: Dispatch[] = []
  /** Multiplications. */
  work = 0
  /** See `Recorder.tiles`. */
  readonly tiles = new Map<boolean, { readonly rows: number; readonly splits: number }>()
  /** The first row of each span was gathered. */
  gathers = false
  /** It hangs on which rows were named. */
  namesRows = false
}

/** Of each owner: prompts end in chunks of all sizes, and steps come in a few. */
const KEPT = 12

export class Tapes<Kept extends Tape = Tape> {
  /** By what they are about: a matrix, a layer of a cache, a model. The one used last comes first. */
  readonly #tapes = new WeakMap<object, Kept[]>()

  find(owner: object, facts: readonly unknown[]): Kept | undefined {
    const tapes = this.#tapes.get(owner)
    if (!tapes) return undefined
    const at = tapes.findIndex((tape) => same(tape.facts, facts))
    if (at > 0) tapes.unshift(...tapes.splice(at, 1))
    return at < 0 ? undefined : tapes[0]
  }

  keep(owner: object, tape: Kept): void {
    const tapes = this.#tapes.get(owner)
    if (!tapes) {
      this.#tapes.set(owner, [tape])
      return
    }
    tapes.unshift(tape)
    if (tapes.length > KEPT) tapes.pop()
  }
}

function same(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
