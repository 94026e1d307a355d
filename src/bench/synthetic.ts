/** Weights made up when they are read. */

import type { Naming, RawTensor, TensorType, WeightSource } from '../models/index.js'
import type { JsonObject } from '../platform/index.js'

/** A matrix in four bits, without its suffix, by rows and columns; or a vector or a block of values, by its whole name. */
export type SyntheticTensor = readonly [name: string, ...shape: number[]]

export interface SyntheticModel {
  readonly naming: Naming
  readonly config: JsonObject
  readonly tensors: readonly SyntheticTensor[]
}

interface Description {
  readonly shape: readonly number[]
  readonly dtype: TensorType
}

/** Random weights in q4f16_1; vectors are all ones. */
export function syntheticWeights({ naming, config, tensors }: SyntheticModel, seed = 1): WeightSource {
  const known = describeAll(tensors)
  const describe = (name: string) => {
    const found = known.get(name)
    if (!found) throw new Error(`There is no tensor ${name}.`)
    return { name, ...found }
  }
  return {
    naming,
    chatConfig: config,
    names: [...known.keys()],
    has: (name) => known.has(name),
    describe,
    async read(name): Promise<RawTensor> {
      const { shape, dtype } = describe(name)
      const count = shape.reduce((a, b) => a * b)
      if (dtype === 'u32') {
        // By its name, not by when it is read: engines that read in different orders get the same weights.
        let state = [...name].reduce((hash, sign) => (Math.imul(hash, 31) + sign.charCodeAt(0)) >>> 0, seed)
        const next = () => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0
          return state
        }
        const words = new Uint32Array(count)
        for (let i = 0; i < count; i++) words[i] = next() ^ (next() >>> 13)
        return { name, shape, dtype, data: new Uint8Array(words.buffer) }
      }
      // 2^-7 for scales and 1 for norms are of a usual size; with 2^-5 the logits are as peaked as a real model's.
      const scale = name.startsWith('model.embed_tokens') ? 0x2800 : 0x2000
      const halves = new Uint16Array(count).fill(name.endsWith('q_scale') ? scale : 0x3c00)
      return { name, shape, dtype, data: new Uint8Array(halves.buffer) }
    },
    digest: 'synthetic',
  }
}

function describeAll(tensors: readonly SyntheticTensor[]): ReadonlyMap<string, Description> {
  const all = new Map<string, Description>()
  for (const [name, ...shape] of tensors) {
    const [rows, columns, more] = shape
    if (columns === undefined || more !== undefined) {
      all.set(name, { shape, dtype: 'f16' })
      continue
    }
    all.set(`${name}.q_weight`, { shape: [rows!, columns / 8], dtype: 'u32' })
    all.set(`${name}.q_scale`, { shape: [rows!, columns / 32], dtype: 'f16' })
  }
  return all
}
