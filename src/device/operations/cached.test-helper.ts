/** Keys and values in a cache, and what queries find there: one layer, texts of one length, each in pages of its own. */

import { type CacheType, type Device, PAGE, type Span } from '../contract.js'
import { attend } from './attend/index.js'
import { embed } from './embed/index.js'
import { rope } from './rope/index.js'

export interface CachedForm {
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly type: CacheType
  readonly length: number
  /** As `angleTable` makes it. */
  readonly angles: Float32Array
}

/** Texts that a cache has room for. */
const TEXTS = 2

export function cached(device: Device, { heads, keyHeads, headSize, type, length, angles }: CachedForm) {
  const width = (heads + 2 * keyHeads) * headSize
  const answer = heads * headSize
  const each = Math.ceil(length / PAGE)
  const made = {
    cache: device.cache({ layers: 1, pages: TEXTS * each, heads: keyHeads, headSize, type }),
    qkv: device.activations(TEXTS * length, width),
    out: device.activations(TEXTS * length, answer),
    turns: device.vector(angles),
  }
  const { cache, qkv, out, turns } = made
  // Those of several texts between each other, and none where its positions would be.
  const pagesOf = (text: number) => Int32Array.from({ length: each }, (_, i) => (each - 1 - i) * TEXTS + text)
  return {
    /** `texts`: rows of queries, keys and values. Answers of positions `from` to before `to` of each. */
    async run(texts: readonly (readonly Float32Array[])[], from = 0, to = length, window?: number) {
      const rows = texts.length * length
      const data = new Float32Array(rows * width)
      for (const [i, row] of texts.flat().entries()) data.set(row, i * width)
      const table = device.matrix({ format: 'f32', rows, columns: width, data: new Uint8Array(data.buffer) })
      const spans = texts.map((_, i): Span => {
        const tokens = Int32Array.from({ length: to - from }, (_, k) => i * length + from + k)
        return { tokens, position: from, pages: pagesOf(i) }
      })
      const pass = device.begin({ spans })
      pass.run(embed, table, qkv)
      pass.run(rope, qkv, cache, 0, { heads, angles: turns })
      pass.run(attend, qkv, cache, 0, out, { heads, scale: headSize ** -0.5, ...(window && { window }) })
      const reading = pass.read(out, pass.rows)
      await pass.submit()
      const got = await reading
      table.destroy()
      const row = (at: number) => got.subarray(at * answer, (at + 1) * answer)
      return texts.map((_, i) => Array.from({ length: to - from }, (_, k) => row(i * (to - from) + k)))
    },
    close() {
      for (const each of Object.values(made)) each.destroy()
    },
  }
}
