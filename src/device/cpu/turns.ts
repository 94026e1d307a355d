/** How long products take: what trials run, in turns, to see which of several ways is quicker on this machine. */
import type { WeightKind } from './abi.js'
import { blockTypeOf } from './block-kinds.js'
import { activationBytes, activationsOf, storedBytes, unpackingRoom } from './matrix.js'
import type { DeviceMemory } from './memory.js'
import { PassProgram } from './program.js'
import type { Kernels, KernelVariant } from './wasm.js'

/** A matrix that stays in the first cache, with what it is multiplied with. */
const SHAPE = { rows: 32, columns: 512 }
/** Milliseconds for which each way runs at a time: more than clocks are coarse by, in pages that are not isolated too. */
const TURN = 0.25
/** Turns of each. The quickest counts. */
const TURNS = 5
/** What is quicker by more than chance. */
const QUICKER = 0.9
/** What takes more than this part of the time of what is usual is as quick, and what is usual stays. */
export const WORTH = 0.95
/** Rows of a trial: of a step, and of a prompt. */
export const TRIAL_ROWS = { few: 1, many: 16 }
/**
 * Milliseconds for which no turn was quicker before a trial ends: engines compile once more what has run for some
 * milliseconds, meanwhile, and until then every way is about as slow.
 */
export const SETTLED = 8
/** Of the first kernels that are tried: nothing of the module is compiled well by then. */
export const FIRST_SETTLED = 40

export interface TrialHost {
  readonly memory: DeviceMemory
  readonly kernels: Pick<Kernels, 'run'>
  readonly variant: KernelVariant
}

type Take = (bytes: number) => number

/** Milliseconds that products of so many rows take, each in the quickest of its turns. Host and products have one memory. */
export function timesOf(
  host: TrialHost,
  tokens: number,
  products: readonly { readonly kind: WeightKind; readonly kernels?: TrialHost['kernels'] }[],
  settled: number,
): number[] {
  return withRoom(host.memory, (take) =>
    quickestTurns(
      products.map(({ kind, kernels = host.kernels }) => preparedProduct({ ...host, kernels }, kind, tokens, take)),
      settled,
    ),
  )
}

/** Room in a memory, as long as `use` runs. */
function withRoom<T>(memory: DeviceMemory, use: (take: Take) => T): T {
  const taken: number[] = []
  try {
    return use((bytes) => {
      const at = memory.allocate(bytes)
      // Infinities among scales would be no slower, but what is denormal is.
      memory.u8.fill(0, at, at + bytes)
      taken.push(at)
      return at
    })
  } finally {
    for (const at of taken) memory.free(at)
  }
}

/** A product that is ready to run. */
function preparedProduct(host: TrialHost, kind: WeightKind, tokens: number, take: Take): () => void {
  const { memory, kernels, variant } = host
  const { rows, columns } = SHAPE
  const xStride = activationBytes(activationsOf(kind), columns, variant)
  const program = new PassProgram(1)
  program.add('matmul', rows / 8, {
    kind,
    matrix: take(storedBytes({ format: blockTypeOf(kind), rows, columns })),
    ...{ x: take(tokens * xStride), xStride, xGap: 0, y: take(tokens * rows * 4), yStride: rows * 4 },
    ...{ rows, columns, tokens, add: false, bias: 0 },
    ...{ unpacked: take(unpackingRoom(kind, columns, tokens)), unpackedGap: 0 },
  })
  const place = take(program.bytes)
  program.write(memory.i32, place)
  return () => kernels.run(place, 1)
}

/** Milliseconds of each way's quickest turn. They run in turns until, for `settled`, none was quicker. */
function quickestTurns(ways: readonly (() => void)[], settled: number): number[] {
  const best = ways.map(() => Number.POSITIVE_INFINITY)
  let since = performance.now()
  for (let turn = 0; turn < TURNS || performance.now() - since < settled; turn++) {
    for (const [i, run] of ways.entries()) {
      const time = timeOf(run)
      if (time < best[i]! * QUICKER) since = performance.now()
      best[i] = Math.min(best[i]!, time)
    }
  }
  return best
}

/** Milliseconds of a run. */
function timeOf(run: () => void): number {
  const start = performance.now()
  for (let runs = 1; ; runs++) {
    run()
    const took = performance.now() - start
    if (took >= TURN) return took / runs
  }
}
