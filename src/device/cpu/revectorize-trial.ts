/** Whether kernels in 256 bits come to what others do, and how much quicker they are: an experiment may fail at either. */
import { BLOCK_TYPES, type BlockType, CACHE_BLOCK, type CacheType, PACKED_CACHE_TYPES } from '../../platform/index.js'
import { type Activations, type Device, type DeviceInfo, type MatrixBand, type Pass, rowBytes } from '../contract.js'
import { addNorm } from '../operations/add-norm/index.js'
import { attend } from '../operations/attend/index.js'
import { embed } from '../operations/embed/index.js'
import { gate } from '../operations/gate/index.js'
import { matmul } from '../operations/matmul/index.js'
import { rope } from '../operations/rope/index.js'
import { CONTROL } from './abi.js'
import { blockKind } from './block-kinds.js'
import { BYTE_PRODUCTS, multipliedOn } from './byte-products.js'
import { assembleDevice, type DeviceParts, deviceMemory } from './device.js'
import type { DeviceMemory } from './memory.js'
import { compileRevectorized } from './revectorize.js'
import { gatherTeam } from './team.js'
import { FIRST_SETTLED, SETTLED, TRIAL_ROWS, type TrialHost, timesOf, WORTH } from './turns.js'
import { instantiate, type Kernels, type KernelVariant, multipliesWholeBytes } from './wasm.js'

/** As many rows of activations as `WIDENED_FROM` asks for, and one that is left; rows of a matrix, four groups and a rest; columns. */
const [TOKENS, ROWS, COLUMNS] = [17, 36, 512]
/** Which that many positions lie in. */
const PAGES = Int32Array.of(0, 1)
/** Of attention: each two heads of queries share keys and values. */
const [HEADS, KEY_HEADS, HEAD_SIZE] = [4, 2, 2 * CACHE_BLOCK]
const EPSILON = 1e-5

/** Numbers that are the same each time. */
class Numbers {
  #state = 1

  /** From 0 to below 2^32. */
  next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0
    return this.#state
  }

  floats(count: number): Float32Array<ArrayBuffer> {
    return Float32Array.from({ length: count }, () => this.next() / 2 ** 31 - 1)
  }

  /** In whatever way they are read as numbers, these are below 2: the highest bit of each exponent is 0. */
  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => (this.next() >>> 24) & 0xbf)
  }
}

/** What a device makes of the same numbers: products of every type of weights, attention over every kind of cache, norms. */
async function resultsOf(device: Device): Promise<Float32Array[]> {
  const numbers = new Numbers()
  const made: { destroy(): void }[] = []
  const keep = <T extends { destroy(): void }>(tensor: T): T => {
    made.push(tensor)
    return tensor
  }
  const rows = (columns: number) => keep(device.activations(TOKENS, columns))
  const vector = (length: number) => keep(device.vector(numbers.floats(length)))
  const results: Float32Array[] = []
  const tables = new Map<Activations, MatrixTable>()
  const filled = (columns: number) => {
    const data = new Uint8Array(numbers.floats(TOKENS * columns).buffer)
    const out = rows(columns)
    tables.set(out, keep(device.matrix({ format: 'f32', rows: TOKENS, columns, data })))
    return out
  }
  /** `count`: rows of the pass. */
  const ran = async (count: number, out: Activations, inputs: readonly Activations[], record: (pass: Pass) => void) => {
    const tokens = Int32Array.from({ length: count }, (_, i) => i)
    const pass = device.begin({ spans: [{ tokens, position: 0, pages: PAGES }] })
    for (const input of inputs) pass.run(embed, tables.get(input)!, input)
    record(pass)
    const read = pass.read(out, count)
    await pass.submit()
    results.push(await read)
  }
  try {
    const [x, out] = [filled(COLUMNS), filled(ROWS)]
    const [weight, bias] = [vector(COLUMNS), vector(ROWS)]
    for (const band of bands(numbers)) {
      const matrix = keep(device.matrix(band))
      await ran(TOKENS, out, [x, out], (pass) => pass.run(matmul, matrix, x, out, { add: true, bias }))
      await ran(1, out, [x], (pass) => pass.run(matmul, matrix, x, out, { norm: { weight, epsilon: EPSILON } }))
    }
    const [gated, normed] = [rows(COLUMNS / 2), filled(COLUMNS)]
    await ran(TOKENS, gated, [x], (pass) => pass.run(gate, x, x, gated, { gate: 'silu', gatesFrom: COLUMNS / 2 }))
    const norm = { weight, epsilon: EPSILON }
    await ran(TOKENS, normed, [x, normed], (pass) => pass.run(addNorm, x, normed, { norm, scale: 3, add: true }))
    const qkv = filled((HEADS + 2 * KEY_HEADS) * HEAD_SIZE)
    const [answers, angles] = [rows(HEADS * HEAD_SIZE), vector(TOKENS * HEAD_SIZE)]
    for (const type of ['f32', 'f16', ...PACKED_CACHE_TYPES] satisfies CacheType[]) {
      const cache = keep(device.cache({ layers: 1, pages: PAGES.length, heads: KEY_HEADS, headSize: HEAD_SIZE, type }))
      await ran(TOKENS, answers, [qkv], (pass) => {
        pass.run(rope, qkv, cache, 0, { heads: HEADS, angles })
        pass.run(attend, qkv, cache, 0, answers, { heads: HEADS, scale: 0.1 })
      })
    }
    return results
  } finally {
    for (const each of made) each.destroy()
  }
}

type MatrixTable = ReturnType<Device['matrix']>

function bands(numbers: Numbers): MatrixBand[] {
  const shape = { rows: ROWS, columns: COLUMNS }
  const plain = (['f32', 'f16', 'bf16', ...Object.keys(BLOCK_TYPES)] as ('f32' | 'f16' | 'bf16' | BlockType)[]).map(
    (format): MatrixBand => ({ format, ...shape, data: numbers.bytes(ROWS * rowBytes(format, COLUMNS)) }),
  )
  const codes = numbers.bytes((ROWS * COLUMNS) / 2)
  const scales = numbers.bytes((ROWS * COLUMNS) / 16)
  return [...plain, { format: 'q4', scaleType: 'f16', ...shape, codes, scales }]
}

function areSameBits(one: readonly Float32Array[], other: readonly Float32Array[]): boolean {
  return one.every((values, i) => {
    const [a, b] = [values, other[i]!].map((list) => new Uint32Array(list.buffer, list.byteOffset, list.length))
    return a!.every((bits, j) => bits === b![j])
  })
}

/**
 * How many times as quick other kernels multiply several rows, as those of a prompt; 0 if one row takes them longer.
 * Both in the way of this machine.
 */
function gainOf(host: TrialHost, other: TrialHost['kernels']): number {
  const machine = { variant: host.variant, wholeBytes: multipliesWholeBytes() }
  const multiplied = multipliedOn(machine, blockKind('q4_0'))
  const ratio = (length: keyof typeof TRIAL_ROWS, settled: number) => {
    const products = [host.kernels, other].map((kernels) => ({ kind: multiplied[length], kernels }))
    const [usual, anew] = timesOf(host, TRIAL_ROWS[length], products, settled)
    return usual! / anew!
  }
  const several = ratio('many', FIRST_SETTLED)
  return ratio('few', SETTLED) < WORTH ? 0 : several
}

export interface Build {
  readonly variant: KernelVariant
  readonly module: WebAssembly.Module
}

export interface RevectorizeTrial {
  /** The build in 256 bits; absent where it is not to be used. */
  readonly module?: WebAssembly.Module
  /** How many times as quick it multiplies several rows. */
  readonly gain?: number
  /** Why it is not to be used: what 256 bits do here. */
  readonly why?: string
}

interface Space {
  readonly memory: DeviceMemory
  readonly kernels: Kernels
  readonly module: WebAssembly.Module
}

interface How {
  readonly shared: boolean
  readonly exact: boolean
}

/** Builds in 256 bits that are right here, and quicker: they are compiled and tried once. */
const right = new Map<string, RevectorizeTrial>()
const keyOf = ({ variant }: Build, { shared, exact }: How) => `${variant} ${shared} ${exact}`

/** As `revectorized`, where that was found before. */
export const knownRevectorized = (build: Build, how: How): RevectorizeTrial | undefined => right.get(keyOf(build, how))

/** Compiles the kernels anew, and tries them beside the usual build: the same results, bit for bit, and quicker. */
export async function revectorized(build: Build, how: How): Promise<RevectorizeTrial> {
  const known = knownRevectorized(build, how)
  if (known) return known
  const tried = await trialOf(build, how)
  if (tried.module) right.set(keyOf(build, how), tried)
  return tried
}

async function trialOf({ variant, module }: Build, { shared, exact }: How): Promise<RevectorizeTrial> {
  const other = compileRevectorized(variant, shared)
  const [usual, anew] = [await spaceOf(module, shared), await spaceOf(other, shared)]
  const ways = variant === 'simd' ? (['bytes'] as const) : BYTE_PRODUCTS
  for (const byteProducts of ways) {
    const how = { variant, exact, byteProducts }
    if (!areSameBits(await resultsIn(usual, how), await resultsIn(anew, how))) {
      return { why: 'come to other results here' }
    }
  }
  const { memory, kernels } = usual
  const gain = gainOf({ memory, variant, kernels }, await instantiate(other, memory.memory))
  return gain * WORTH > 1 ? { module: other, gain } : { why: 'are no quicker here' }
}

async function spaceOf(module: WebAssembly.Module, shared: boolean): Promise<Space> {
  const memory = deviceMemory(shared)
  return { module, memory, kernels: await instantiate(module, memory.memory) }
}

async function resultsIn(
  { module, memory, kernels }: Space,
  how: Pick<DeviceParts, 'variant' | 'exact' | 'byteProducts'>,
): Promise<Float32Array[]> {
  const team = await gatherTeam(kernels, module, memory.memory, CONTROL, 1)
  const device = assembleDevice(TRIED, { memory, kernels, team, ...how })
  try {
    return await resultsOf(device)
  } finally {
    device.destroy()
  }
}

const TRIED: DeviceInfo = { kind: 'cpu', name: 'a trial', reason: 'A trial.', kernels: '' }
