/**
 * Attention of one token on the CPU device, over keys and values in f16, in 8 bits and in 4, in turns within one run: how long
 * it takes, and how fast it reads them. The best of the rounds; one thread by the processor's time, several by the clock.
 *
 *     npm run bench:attention -- [--threads N]
 */

import process from 'node:process'
import { parseArgs } from 'node:util'
import { type CacheType, PAGE } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { attend } from '../../src/device/operations/attend/index.js'
import { embed } from '../../src/device/operations/embed/index.js'
import { rope } from '../../src/device/operations/rope/index.js'
import { angleTable } from '../../src/models/angles.js'
import { cacheBytes } from '../../src/platform/index.js'

/** Query heads, key heads, values of a head: a Llama of 1B, a Qwen of 0.5B and one of 0.6B. */
const SHAPES = [
  [32, 8, 64],
  [14, 2, 64],
  [16, 8, 128],
] as const
const LENGTHS = [512, 2048, 8000]
const TYPES: readonly CacheType[] = ['f16', 'q8_0', 'q4_0']
const ROUNDS = 7
/** Operations of one pass, which takes some time itself. */
const OPERATIONS = 20
const CHUNK = 64

const threads = Number(parseArgs({ options: { threads: { type: 'string', default: '1' } } }).values.threads)

const milliseconds = (): number => {
  if (threads > 1) return performance.now()
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function attending(type: CacheType, length: number, [heads, keyHeads, headSize]: (typeof SHAPES)[number]) {
  const device = await openCpuDevice({ threads })
  const width = (heads + 2 * keyHeads) * headSize
  const count = Math.ceil(length / PAGE)
  const cache = device.cache({ layers: 1, pages: count, heads: keyHeads, headSize, type })
  const [qkv, out] = [device.activations(CHUNK, width), device.activations(CHUNK, heads * headSize)]
  const angles = device.vector(angleTable(length, { size: headSize, theta: 10000 }, headSize))
  const pages = Int32Array.from({ length: count }, (_, i) => i)
  const values = Float32Array.from({ length: CHUNK * width }, (_, i) => Math.sin(i * i))
  const data = new Uint8Array(values.buffer)
  const table = device.matrix({ format: 'f32', rows: CHUNK, columns: width, data })
  for (let position = 0; position < length; position += CHUNK) {
    const tokens = Int32Array.from({ length: Math.min(CHUNK, length - position) }, (_, k) => k)
    const pass = device.begin({ spans: [{ tokens, position, pages }] })
    pass.run(embed, table, qkv)
    pass.run(rope, qkv, cache, 0, { heads, angles })
    await pass.submit()
  }
  return {
    async once(): Promise<number> {
      const pass = device.begin({ spans: [{ tokens: Int32Array.of(3), position: length - 1, pages }] })
      pass.run(embed, table, qkv)
      for (let i = 0; i < OPERATIONS; i++) pass.run(attend, qkv, cache, 0, out, { heads, scale: headSize ** -0.5 })
      const read = pass.read(out, 1)
      const began = milliseconds()
      await pass.submit()
      await read
      return (milliseconds() - began) / OPERATIONS
    },
    close: () => device.destroy(),
  }
}

console.log(
  'heads, key heads, values of a head; positions; ms and GB/s in f16, in 8 bits, in 4; f16 / 8 bits, f16 / 4 bits',
)
for (const shape of SHAPES) {
  for (const length of LENGTHS) {
    const open = await Promise.all(TYPES.map((type) => attending(type, length, shape)))
    const best = TYPES.map(() => Number.POSITIVE_INFINITY)
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, each] of open.entries()) best[i] = Math.min(best[i]!, await each.once())
    }
    for (const each of open) each.close()
    const figures = TYPES.map((type, i) => {
      const bytes = 2 * length * shape[1] * cacheBytes(type, shape[2])
      return `${best[i]!.toFixed(3)} ms ${(bytes / best[i]! / 1e6).toFixed(1)} GB/s`
    })
    console.log(
      `${shape.join(', ')}; ${length}; ${figures.join('; ')}; ${best
        .slice(1)
        .map((each) => (best[0]! / each).toFixed(2))
        .join('; ')}`,
    )
  }
}
