/** Rows that all threads pack together, whatever comes with them, are those that one thread packs one by one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Device, Matrix, MatrixBand, ReadingRoom } from '../contract.js'
import { shapeOf } from '../contract.js'
import { embed } from '../operations/embed/index.js'
import { BLOCK_FORMATS, Chance, knownMatrix } from '../operations/numbers.test-helper.js'
import { openCpuDevice } from './index.js'
import { variants } from './kernels.test-helper.js'

const [ROWS, COLUMNS] = [45, 256]

async function rowsOf(device: Device, table: Matrix): Promise<Float32Array> {
  const out = device.activations(table.rows, COLUMNS)
  const tokens = Int32Array.from({ length: table.rows }, (_, row) => row)
  const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(16) }] })
  pass.run(embed, table, out)
  const reading = pass.read(out, table.rows)
  await pass.submit()
  out.destroy()
  table.destroy()
  return reading
}

function cut(band: MatrixBand, from: number, to: number): MatrixBand {
  const of = (bytes: Uint8Array) => bytes.slice((bytes.length / band.rows) * from, (bytes.length / band.rows) * to)
  const rows = to - from
  return band.format === 'q4'
    ? { ...band, rows, codes: of(band.codes), scales: of(band.scales) }
    : { ...band, rows, data: of(band.data) }
}

/** The same rows, where a device has files read into. */
function staged(device: Device, band: MatrixBand): { readonly band: MatrixBand; readonly rooms: ReadingRoom[] } {
  const rooms: ReadingRoom[] = []
  const inside = (bytes: Uint8Array) => {
    const room = device.stage!(bytes.length)!
    room.room.set(bytes)
    rooms.push(room)
    return room.room.subarray(0, bytes.length)
  }
  const own =
    band.format === 'q4'
      ? { ...band, codes: inside(band.codes), scales: inside(band.scales) }
      : { ...band, data: inside(band.data) }
  return { band: own, rooms }
}

describe.each(variants)('rows in the layout of the kernels (%s)', (variant) => {
  let alone: Device
  let together: Device
  beforeAll(async () => {
    alone = await openCpuDevice({ variant, threads: 1 })
    together = await openCpuDevice({ variant, threads: 3 })
  })
  afterAll(() => {
    alone.destroy()
    together.destroy()
  })

  it.each([...BLOCK_FORMATS, 'q4f16', 'q4f32', 'f16', 'bf16', 'f32'] as const)('%s', async (format) => {
    const { data } = knownMatrix(new Chance(5), format, ROWS, COLUMNS)
    const band = data as MatrixBand
    const expected = await rowsOf(together, together.matrix(band))
    for (const row of [0, 7, 11, 40, 44]) {
      const one = await rowsOf(alone, alone.matrix(cut(band, row, row + 1)))
      expect(one.some((value) => value !== 0)).toBe(true)
      expect(one, `row ${row}`).toEqual(expected.slice(row * COLUMNS, (row + 1) * COLUMNS))
    }
    for (const [device, step] of [
      [alone, 5],
      [together, 29],
    ] as const) {
      const { matrix, add } = device.growingMatrix([shapeOf(band)])
      for (let from = 0; from < ROWS; from += step) add(cut(band, from, Math.min(ROWS, from + step)))
      expect(await rowsOf(device, matrix), `${step} at a time`).toEqual(expected)
    }
    for (const rows of [40, ROWS]) {
      const { band: own, rooms } = staged(together, cut(band, 0, rows))
      const matrix = together.matrix(own)
      for (const room of rooms) room.destroy()
      expect(await rowsOf(together, matrix), `${rows} in its memory`).toEqual(expected.slice(0, rows * COLUMNS))
    }
  })
})
