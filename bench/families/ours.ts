/** Our core over a file, wherever JavaScript runs. */
import type { Device } from '../../src/device/contract.js'
import type { ByteProducts } from '../../src/device/cpu/byte-products.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { GREEDY } from '../../src/generate/index.js'
import type { ModelLocation } from '../../src/models/files/location.js'
import { openRepository } from '../../src/models/files/open.js'
import { loadCore } from '../../src/models/load.js'
import { type Side, type SideOptions, text } from './side.js'

interface OurDevice {
  readonly threads: number
  readonly revectorize: boolean
  readonly byteProducts?: ByteProducts
}

/** With the kernels that were asked for, and no others: where those of 256 bits are not used, its name says so. */
export async function openOurs(options: OurDevice): Promise<Device> {
  const device = await openCpuDevice(options)
  const { name } = device.info
  if (options.revectorize && name.includes('not in 256 bits')) throw new Error(name)
  return device
}

export async function ourSide(
  place: ModelLocation,
  { threads, context, clock, revectorize = false }: SideOptions,
): Promise<Side> {
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  const { weights } = await openRepository(place, options)
  const device = await openOurs({ threads, revectorize })
  const core = await loadCore(device, weights, { contextLength: context, cacheTokens: 2 * context, maxBatch: 1 })
  let held = core.open()
  let token = 0
  const feed = async (sequence: typeof held, tokens: readonly number[]) => {
    for (let at = 0; at < tokens.length; at += core.maxChunk) {
      const last = at + core.maxChunk >= tokens.length
      const chunk = tokens.slice(at, at + core.maxChunk)
      const [drawn] = await core.step([{ sequence, tokens: chunk, ...(last && { sample: GREEDY }) }])
      if (drawn) token = drawn.token
    }
  }
  return {
    async read(length) {
      const sequence = core.open()
      const start = clock()
      await feed(sequence, text(0, length))
      const seconds = (clock() - start) / 1000
      sequence.close()
      return length / seconds
    },
    async fill(length) {
      if (held.length > length) {
        held.close()
        held = core.open()
      }
      await feed(held, text(held.length, length))
    },
    async write(tokens) {
      const start = clock()
      for (let i = 0; i < tokens; i++) {
        token = (await core.step([{ sequence: held, tokens: [token], sample: GREEDY }]))[0]!.token
      }
      return (1000 * tokens) / (clock() - start)
    },
    async close() {
      await core.close()
      device.destroy()
    },
  }
}
