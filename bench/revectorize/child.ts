/** Products of several rows, for each type of weights: billions of multiplications a second, and what they came to. */
import { createHash } from 'node:crypto'
import process from 'node:process'
import type { MatrixBand } from '../../src/device/contract.js'
import { BYTE_PRODUCTS } from '../../src/device/cpu/byte-products.js'
import { embed } from '../../src/device/operations/embed/index.js'
import { matmul } from '../../src/device/operations/matmul/index.js'
import { type BlockName, blocksOf } from '../families/blocks.js'
import { openOurs } from '../families/ours.js'

const [, , build, rows, ...types] = process.argv
const revectorize = build === 'revectorize'
const byteProducts = BYTE_PRODUCTS.find((way) => way === build)
const ROWS = Number(rows)
const [OUT, IN] = [1024, 1024]
/** Products of a pass, which takes some time itself; passes until code is compiled as well as it will be; passes. */
const [PRODUCTS, FIRST, PASSES] = [4, 20, 30]

const device = await openOurs({ threads: 1, revectorize, ...(byteProducts && { byteProducts }) })
const x = device.activations(ROWS, IN)
const y = device.activations(ROWS, OUT)
const values = Float32Array.from({ length: ROWS * IN }, (_, i) => Math.sin(i * i))
const table = device.matrix({ format: 'f32', rows: ROWS, columns: IN, data: new Uint8Array(values.buffer) })
const span = { tokens: Int32Array.from({ length: ROWS }, (_, i) => i), position: 0, pages: new Int32Array(ROWS) }

/** By type. `result`: a hash of it. */
export type Found = Readonly<Record<string, { readonly speed: number; readonly result: string }>>

const found: Record<string, Found[string]> = {}
for (const type of types) {
  const data = await blocksOf(type as BlockName, IN, OUT * IN, 'made-up', { layers: 1, head: '' }).data()
  const matrix = device.matrix({ format: type.toLowerCase(), rows: OUT, columns: IN, data } as MatrixBand)
  let best = Number.POSITIVE_INFINITY
  let result = ''
  for (let i = 0; i < FIRST + PASSES; i++) {
    const pass = device.begin({ spans: [span] })
    pass.run(embed, table, x)
    for (let j = 0; j < PRODUCTS; j++) pass.run(matmul, matrix, x, y, {})
    const read = pass.read(y, ROWS)
    const began = process.cpuUsage()
    await pass.submit()
    const { user, system } = process.cpuUsage(began)
    if (i >= FIRST) best = Math.min(best, (user + system) / 1e6)
    result = createHash('sha256')
      .update(new Uint8Array((await read).buffer))
      .digest('hex')
      .slice(0, 12)
  }
  found[type] = { speed: (PRODUCTS * ROWS * OUT * IN) / best / 1e9, result }
}
device.destroy()
console.log(JSON.stringify(found))
