/** GGUF's tensors as they lie: plain numbers, and matrices in blocks. */

import { type BlockType, isBlockType } from '../../../../platform/index.js'
import { broken, damaged } from '../../failure.js'
import type { RepositoryFiles } from '../../files.js'
import { readAhead } from '../../read-ahead.js'
import { storedRows } from '../../rows.js'
import type { TensorType, WeightOutline, WeightSource } from '../../source.js'
import { blockValues } from './dequantize.js'
import type { GgufTensor } from './head.js'
import { READABLE, typeOf } from './types.js'

export function ggufWeights(
  files: RepositoryFiles,
  stored: readonly GgufTensor[],
): Omit<WeightOutline, 'chatConfig' | 'naming'> & Pick<WeightSource, 'read' | 'has' | 'rows'> {
  const tensors = new Map(stored.map((tensor) => [tensor.name, { tensor, form: formOf(files.place, tensor) }]))
  const ends = new Map<string, number>()
  for (const { file, from, bytes } of stored) ends.set(file, Math.max(ends.get(file) ?? 0, from + bytes))
  const read = readAhead(files, (file) => ends.get(file) ?? 0)
  const find = (name: string) => {
    const found = tensors.get(name)
    if (!found) throw damaged(files.place, `it has no tensor ${name}.`)
    return found
  }
  return {
    rows(name) {
      const { tensor, form } = find(`${name}.weight`)
      const { file, from: start, shape } = tensor
      return storedRows(form, shape.at(-1)!, (from, to, _, into) => read(file, start + from, start + to, into))
    },
    names: [...tensors.keys()],
    has: (name) => tensors.has(name),
    describe(name) {
      const { tensor, form } = find(name)
      return { name, shape: tensor.shape, dtype: isList(tensor, form) ? 'f32' : form }
    },
    async read(name, signal) {
      signal?.throwIfAborted()
      const { tensor, form } = find(name)
      const { file, from, bytes, shape } = tensor
      const data = await read(file, from, from + bytes)
      if (!isList(tensor, form)) return { name, shape, dtype: form, data }
      return { name, shape, dtype: 'f32', data: new Uint8Array(blockValues(form, data).buffer) }
    },
  }
}

/** What is in blocks and no matrix, nor several in one: a device has none but matrices in them. */
function isList({ shape }: GgufTensor, form: Form): form is BlockType {
  return isBlockType(form) && shape.length === 1
}

type Form = Exclude<TensorType, 'u32'>

function formOf(place: string, { name, type }: GgufTensor): Form {
  const { form, label } = typeOf(type)
  if (form) return form
  throw broken(place, `tensor ${name} has the type ${label}; these can be read: ${READABLE.join(', ')}.`)
}
