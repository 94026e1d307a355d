/** Tensors of a repository as the decoder's matrices and vectors. */

import {
  type Device,
  type Matrix,
  type MatrixBand,
  type MatrixData,
  type MatrixShape,
  type ReadingRoom,
  rowBytes,
  type Vector,
} from '../device/index.js'
import { joined } from '../platform/index.js'
import type { RawTensor, StoredRows, WeightSource } from './files/source.js'
import { bandForms, canShrink, type PlannedMatrix, type PlannedVector, type StoredForm, storedName } from './planned.js'
import { quantize } from './quantize.js'
import {
  areNumbers,
  checkedBytes,
  fourBitValues,
  mismatch,
  notANumber,
  storedLength,
  toFloats,
} from './stored-values.js'

/** Brings planned tensors to a device. */
export class TensorLoader {
  readonly source: WeightSource
  readonly #device: Device
  readonly signal: AbortSignal | undefined
  /** Everything made so far, so that a failure half-way can free it. */
  readonly made: { destroy(): void }[] = []
  readonly #lanes: readonly Lane[]
  #begun = 0
  #failure: unknown

  constructor(device: Device, source: WeightSource, signal?: AbortSignal) {
    this.#device = device
    this.source = source
    this.signal = signal
    this.#lanes = [new Lane(device), new Lane(device)]
  }

  /** Gives back what was read into, once nothing is read any more. To be called when all is loaded, or nothing more is. */
  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()))
  }

  /** May be asked for while others are under way. */
  matrix(planned: PlannedMatrix, gated = false): Promise<Matrix> {
    return this.#inTurn((room) => this.#matrix(planned, gated, room))
  }

  async #matrix(planned: PlannedMatrix, gated: boolean, room: Room): Promise<Matrix> {
    const rows = rowsOf(this.source, planned)
    const { rows: all, experts } = planned
    const use = { gated, ...(experts && { together: all / experts.count / (experts.halves ? 2 : 1) }) }
    if (!rows) {
      // A device without a room of its own may keep what it is given.
      const own = this.#device.stage && room
      return this.#keep(this.#device.matrix(await readMatrix(this.source, planned, this.signal, own), use))
    }
    const shapes = bandForms(planned).map((form): MatrixShape => ({ ...form, scaleType: 'f16' }))
    const growing = this.#device.growingMatrix(shapes, use)
    this.#keep(growing.matrix)
    for await (const band of inChunks(rows, planned, room, this.signal)) growing.add(band)
    return growing.matrix
  }

  /** A matrix of four bits in single precision: a small one, which is multiplied as it is. `turned`: its columns are rows. */
  unpacked(planned: PlannedMatrix, turned: boolean): Promise<Matrix> {
    return this.#inTurn(async (room) => {
      const stored = await readMatrix(this.source, planned, this.signal, room)
      if (stored.format !== 'q4') throw new TypeError(`Only four bits are unpacked, not ${stored.format}.`)
      return this.table(fourBitValues(stored, turned), turned ? planned.rows : planned.columns)
    })
  }

  vector(planned: PlannedVector): Promise<Vector> {
    return this.#inTurn(async () => this.floats(await readVector(this.source, planned, this.signal)))
  }

  /** Two at a time: one is read while the other goes to the device. After a failure none begins. */
  #inTurn<T>(load: (room: Room) => Promise<T>): Promise<T> {
    return this.#lanes[this.#begun++ % this.#lanes.length]!.run(async (room) => {
      if (this.#failure !== undefined) throw this.#failure
      try {
        this.signal?.throwIfAborted()
        return await load(room)
      } catch (error) {
        this.#failure ??= error
        throw error
      }
    })
  }

  vectorValues(planned: PlannedVector): Promise<Float32Array> {
    return this.#inTurn(() => readVector(this.source, planned, this.signal))
  }

  /** The values of a matrix that is stored plain, row by row: for those that are joined before they are used. */
  async values(planned: PlannedMatrix): Promise<Float32Array> {
    const read = await readMatrix(this.source, planned, this.signal)
    if (read.format === 'q4' || read.format === 'mixed') throw new TypeError('Values in four bits are not read back.')
    return toFloats({ dtype: read.format, data: read.data })
  }

  /** A matrix of values that are at hand. */
  table(values: Float32Array, columns: number): Matrix {
    const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
    return this.#keep(this.#device.matrix({ format: 'f32', rows: values.length / columns, columns, data }))
  }

  floats(values: Float32Array): Vector {
    return this.#keep(this.#device.vector(values))
  }

  #keep<T extends { destroy(): void }>(tensor: T): T {
    this.made.push(tensor)
    return tensor
  }
}

/** Where rows are read into, by turns: on the device, where it has room for that. */
class Room {
  readonly #device: Device
  readonly #turns: [Uint8Array?, Uint8Array?] = []
  readonly #stages = new Map<Uint8Array, ReadingRoom>()
  #reading: readonly [Promise<unknown>?, Promise<unknown>?] = []

  constructor(device: Device) {
    this.#device = device
  }

  /** What is read into it last must have been used. */
  read(turn: 0 | 1, bytes: number, read: (into: Uint8Array) => Promise<Uint8Array>): Promise<Uint8Array> {
    let room = this.#turns[turn]
    if (!room || room.length < bytes) {
      if (room) this.#free(room)
      room = this.#make(Math.max(bytes, CHUNK))
      this.#turns[turn] = room
    }
    const reading = read(room.subarray(0, bytes))
    // Whoever waits for it hears of it.
    const over = reading.catch(() => {})
    this.#reading = turn === 0 ? [over, this.#reading[1]] : [this.#reading[0], over]
    return reading
  }

  async close(): Promise<void> {
    await Promise.all(this.#reading)
    for (const room of this.#turns.splice(0)) if (room) this.#free(room)
  }

  #make(bytes: number): Uint8Array {
    const stage = this.#stage(bytes)
    if (!stage) return new Uint8Array(bytes)
    this.#stages.set(stage.room, stage)
    return stage.room
  }

  /** It is no more than a shorter way. */
  #stage(bytes: number): ReadingRoom | undefined {
    try {
      return this.#device.stage?.(bytes)
    } catch {
      return undefined
    }
  }

  #free(room: Uint8Array): void {
    this.#stages.get(room)?.destroy()
    this.#stages.delete(room)
  }
}

/** One after the other. */
class Lane {
  readonly #room: Room
  #last: Promise<unknown> = Promise.resolve()

  constructor(device: Device) {
    this.#room = new Room(device)
  }

  run<T>(task: (room: Room) => Promise<T>): Promise<T> {
    const done = this.#last.then(() => task(this.#room))
    this.#last = done.catch(() => {})
    return done
  }

  async close(): Promise<void> {
    await this.#last
    await this.#room.close()
  }
}

interface PartRows {
  readonly part: PlannedMatrix['parts'][number] & { readonly stored: FormedRows['format'] }
  readonly rows: StoredRows
}

/** The parts of a matrix that need not be read whole: its rows are taken as they are stored, one part after the other. */
function rowsOf(source: WeightSource, { parts, columns, order }: PlannedMatrix): PartRows[] | undefined {
  if (order || !source.rows) return undefined
  const found: PartRows[] = []
  for (const part of parts) {
    const { name, rows: count, stored, shape = [count, columns] } = part
    if (stored === 'q4') return undefined
    const tensor = source.describe(storedName(part))
    if (tensor.dtype !== stored || tensor.shape.join() !== shape.join()) throw mismatch(tensor, shape)
    found.push({ part: { ...part, stored }, rows: source.rows(name) })
  }
  return found
}

/** Bytes that are read at a time, while those before them go to the device. */
const CHUNK = 4 * 1048576

/** Rows of a matrix in its device's form, a few at a time; they hold until the next are asked for. */
async function* inChunks(
  parts: readonly PartRows[],
  { columns, quantize: shrink }: PlannedMatrix,
  room: Room,
  signal?: AbortSignal,
): AsyncGenerator<MatrixBand> {
  const wanted = parts.flatMap(({ part, rows }) => {
    // Whole groups of rows, which devices keep together.
    const step = Math.max(8, Math.floor(CHUNK / rows.rowBytes / 8) * 8)
    return Array.from({ length: Math.ceil(part.rows / step) }, (_, i) => ({
      part,
      rows,
      from: i * step,
      to: Math.min(part.rows, (i + 1) * step),
    }))
  })
  const read = (i: number): Promise<Uint8Array> => {
    const { rows, from, to } = wanted[i]!
    return room.read(i % 2 === 0 ? 0 : 1, (to - from) * rows.rowBytes, (into) => rows.read(from, to, signal, into))
  }
  let next = read(0)
  for (const [i, { part, rows, from, to }] of wanted.entries()) {
    const data = await next
    signal?.throwIfAborted()
    if (i + 1 < wanted.length) next = read(i + 1)
    const { stored: format } = part
    const named = { name: storedName(part), dtype: format, shape: [to - from, columns], data }
    if (data.byteLength !== (to - from) * rows.rowBytes) throw mismatch(named, named.shape)
    if (!areNumbers(data, format)) throw notANumber(named)
    yield forDevice({ format, rows: to - from, data }, columns, shrink)
  }
}

function forDevice({ format, rows, data }: FormedRows, columns: number, shrink: boolean): MatrixBand {
  if (!shrink || !canShrink(format)) return { format, rows, columns, data }
  return { format: 'q4', rows, columns, ...quantize(toFloats({ dtype: format, data })), scaleType: 'f16' }
}

/** The parts of a matrix, one below the other. `room`: in which they may be, until it is read into again. */
export async function readMatrix(
  source: WeightSource,
  planned: PlannedMatrix,
  signal?: AbortSignal,
  room?: Room,
): Promise<MatrixData> {
  const { parts, rows, columns, scaleType, order } = planned
  if (parts.every(({ stored }) => stored === 'q4')) {
    const read = async (suffix: string, type: RawTensor['dtype'], width: number, turn: 0 | 1) => {
      const wanted = parts.map((part) => ({ name: `${part.name}.${suffix}`, shape: [part.rows, width] }))
      const bytes = storedLength([rows, width], type)
      const isWhole = wanted.length === 1 && !order
      if (!room || !isWhole || bytes > CHUNK) return join(await readParts(source, wanted, type, signal), order)
      return room.read(turn, bytes, async (into) => {
        const [data] = await readParts(source, wanted, type, signal, into)
        return data!
      })
    }
    const [codes, scales] = await Promise.all([
      read('q_weight', 'u32', columns / 8, 0),
      read('q_scale', scaleType, columns / 32, 1),
    ])
    return { format: 'q4', rows, columns, codes, scales, scaleType }
  }
  const read: FormedRows[] = []
  for (const part of parts) {
    const { name, rows, stored, shape = [rows, columns] } = part
    if (stored === 'q4') throw new TypeError(`${name} is in four bits, and others of its matrix are not.`)
    const [data] = await readParts(source, [{ name: storedName(part), shape }], stored, signal)
    read.push({ format: stored, rows, data: data! })
  }
  const bands = inBands(read, columns, order).map((rows) => forDevice(rows, columns, planned.quantize))
  return bands.length === 1 ? bands[0]! : { format: 'mixed', rows, columns, bands }
}

interface FormedRows {
  readonly format: Exclude<StoredForm, 'q4'>
  readonly rows: number
  readonly data: Uint8Array
}

/** Rows of one form together, each where `order` says. */
function inBands(parts: readonly FormedRows[], columns: number, order?: readonly number[]): FormedRows[] {
  const [{ format }] = parts as readonly [FormedRows]
  if (parts.every((part) => part.format === format)) {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0)
    const data = parts.map((part) => part.data)
    return [{ format, rows, data: join(data, order) }]
  }
  const origins = parts.flatMap((part) => Array.from({ length: part.rows }, (_, row) => ({ part, row })))
  const bands: { format: FormedRows['format']; data: Uint8Array[] }[] = []
  for (const from of order ?? origins.keys()) {
    const { part, row } = origins[from]!
    const bytes = rowBytes(part.format, columns)
    if (bands.at(-1)?.format !== part.format) bands.push({ format: part.format, data: [] })
    bands.at(-1)!.data.push(part.data.subarray(row * bytes, (row + 1) * bytes))
  }
  return bands.map(({ format, data }) => ({ format, rows: data.length, data: joined(data) }))
}

function join(parts: readonly Uint8Array[], order?: readonly number[]): Uint8Array {
  const whole = parts.length === 1 ? parts[0]! : joined(parts)
  return order ? ordered(whole, order) : whole
}

export async function readVector(
  source: WeightSource,
  { parts, length, values: known, order, exponent, offset = 0, scale = 1 }: PlannedVector,
  signal?: AbortSignal,
): Promise<Float32Array> {
  if (known) return Float32Array.from(known)
  const values = new Float32Array(length)
  let at = 0
  for (const part of parts) {
    const tensor = await source.read(part.name, signal)
    values.set(
      toFloats({ dtype: tensor.dtype, data: checkedBytes(tensor, part.shape ?? [part.length], tensor.dtype) }),
      at,
    )
    at += part.length
  }
  const placed = order ? Float32Array.from(order, (from) => values[from] ?? 0) : values
  if (exponent !== undefined) return placed.map((value) => exponent * Math.exp(value))
  return placed.map((value) => (value + offset) * scale)
}

/** Rows, each where `order` says. */
function ordered(data: Uint8Array, order: readonly number[]): Uint8Array {
  const bytes = data.length / order.length
  const out = new Uint8Array(data.length)
  order.forEach((from, to) => {
    out.set(data.subarray(from * bytes, (from + 1) * bytes), to * bytes)
  })
  return out
}

async function readParts(
  source: WeightSource,
  wanted: readonly { readonly name: string; readonly shape: readonly number[] }[],
  type: RawTensor['dtype'],
  signal?: AbortSignal,
  into?: Uint8Array,
): Promise<Uint8Array[]> {
  const read: Uint8Array[] = []
  for (const { name, shape } of wanted) read.push(checkedBytes(await source.read(name, signal, into), shape, type))
  return read
}
