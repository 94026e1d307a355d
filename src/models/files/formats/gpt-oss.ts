/**
 * gpt-oss, as transformers has it: the experts of a layer in one tensor, the rows of gates and values by turns, as blocks of
 * MXFP4 with their exponents beside them, or as plain numbers, columns before rows. They are given as all others are: gates,
 * values and what comes of them apart, in rows; and blocks as ggml has them, number for number.
 */
import { blockBytes, isRecord, type JsonObject } from '../../../platform/index.js'
import { broken } from '../failure.js'
import { parseJson } from '../json.js'
import { storedRows } from '../rows.js'
import { type PlainType, type RawTensor, SIZES, type StoredRows } from '../source.js'
import type { RepositoryFormat } from './format.js'
import { readTransformers, type TransformersModel } from './safetensors.js'

const CONFIG = 'config.json'
const TYPE = 'gpt_oss'
/** Codes of a block, and its bytes: the exponent, then codes. */
const BLOCK = 32
const CODES = BLOCK / 2
const BLOCK_BYTES = CODES + 1

export const gptOssFormat: RepositoryFormat = {
  name: 'gpt-oss',
  mark: `${CONFIG} of the type "${TYPE}"`,
  async detect(files, signal) {
    const given = await files.text(CONFIG, signal)
    const config: JsonObject = given === undefined ? {} : parseJson(files.place, CONFIG, given)
    if (config.model_type !== TYPE) return undefined
    const { quantization_config: quantised, ...rest } = config
    const inBlocks = isRecord(quantised) && quantised.quant_method === 'mxfp4'
    const model = await readTransformers(files, inBlocks ? rest : config, signal)
    const parts = partsOf(model, files.place)
    if (parts.size === 0) return model
    const plain = model.outline()
    const taken = new Set([...parts.values()].flatMap(({ names }) => names))
    const outline = {
      ...plain,
      names: [...plain.names.filter((name) => !taken.has(name)), ...parts.keys()],
      describe: (name: string) => {
        const part = parts.get(name)
        return part ? { name, shape: part.shape, dtype: part.dtype } : plain.describe(name)
      },
    }
    return {
      ...model,
      outline: () => outline,
      open() {
        const source = model.open()
        const whole = async (name: string, part: GivenTensor): Promise<RawTensor> => {
          const rows = part.shape.slice(0, -1).reduce((product, side) => product * side, 1)
          return { ...outline.describe(name), data: await part.read(source.slice, 0, rows) }
        }
        return {
          ...source,
          ...outline,
          has: (name) => parts.has(name) || (source.has(name) && !taken.has(name)),
          read(name, reading) {
            const part = parts.get(name)
            if (!part) return source.read(name, reading)
            reading?.throwIfAborted()
            return whole(name, part)
          },
          rows(name) {
            const part = parts.get(`${name}.weight`)
            return part ? rowsOf(part, source.slice) : source.rows!(name)
          },
        }
      },
    }
  },
}

type Stored = ReturnType<TransformersModel['stored']>
type Slice = ReturnType<TransformersModel['open']>['slice']

/** A tensor as it is given. */
interface GivenTensor {
  /** What it is made of. */
  readonly names: readonly string[]
  readonly shape: readonly number[]
  readonly dtype: PlainType | 'mxfp4'
  /** Rows from one on and before another, of all experts one after the other. */
  read(slice: Slice, from: number, to: number): Promise<Uint8Array>
}

function rowsOf(part: GivenTensor, slice: Slice): StoredRows {
  const columns = part.shape.at(-1)!
  const bytes = part.dtype === 'mxfp4' ? blockBytes(part.dtype, columns) : columns * SIZES[part.dtype]
  return storedRows(part.dtype, columns, (from, to) => part.read(slice, from / bytes, to / bytes))
}

/** Of each projection, which of its stored rows are whose. */
const HALVES = [
  ['gate_up', 'gate', 2, 0],
  ['gate_up', 'up', 2, 1],
  ['down', 'down', 1, 0],
] as const

function partsOf(model: TransformersModel, place: string): Map<string, GivenTensor> {
  const parts = new Map<string, GivenTensor>()
  const names = new Set(model.outline().names)
  for (const name of names) {
    const [, at, of, kind] = /^(.*\.experts\.)(gate_up|down)_proj(_blocks|_bias)?$/.exec(name) ?? []
    if (at === undefined) continue
    for (const [from, to, step, first] of HALVES) {
      if (from !== of) continue
      const by = { step, first }
      const given = `${at}${to}_proj`
      if (kind === '_bias') parts.set(`${given}.bias`, biasOf(model.stored(name), by, place))
      else if (kind === undefined) parts.set(`${given}.weight`, turned(model.stored(name), by, place))
      else {
        const scales = model.stored(name.replace('_blocks', '_scales'))
        parts.set(`${given}.weight`, joined(model.stored(name), scales, by, place))
      }
    }
  }
  return parts
}

/** Of so many rows by turns, which. */
interface Turn {
  readonly step: number
  readonly first: number
}

function biasOf(stored: Stored, { step, first }: Turn, place: string): GivenTensor {
  const { name, shape, file, from } = stored
  const dtype = plainOf(stored, 2, place)
  const [experts, rows] = shape as [number, number]
  return {
    names: [name],
    shape: [experts, rows / step],
    dtype,
    async read(slice, begin, end) {
      const size = SIZES[dtype]
      const bytes = rows * size
      return every(await slice(file, from + begin * bytes, from + end * bytes), size, step, first)
    },
  }
}

/** Plain numbers, as [expert][column][row]. */
function turned(stored: Stored, { step, first }: Turn, place: string): GivenTensor {
  const { name, shape, file, from } = stored
  const dtype = plainOf(stored, 3, place)
  const [experts, columns, all] = shape as [number, number, number]
  const rows = all / step
  const size = SIZES[dtype]
  const bytes = columns * all * size
  // Rows come a few at a time, and of one expert after the other: it is read once.
  let known: { readonly expert: number; readonly bytes: Promise<Uint8Array> } | undefined
  return {
    names: [name],
    shape: [experts, rows, columns],
    dtype,
    async read(slice, begin, end) {
      const out = new Uint8Array((end - begin) * columns * size)
      for (let row = begin; row < end; row++) {
        const expert = Math.floor(row / rows)
        if (known?.expert !== expert) {
          known = { expert, bytes: slice(file, from + expert * bytes, from + (expert + 1) * bytes) }
        }
        const read = await known.bytes
        const column = ((row % rows) * step + first) * size
        for (let c = 0, to = (row - begin) * columns * size; c < columns; c++, to += size) {
          for (let i = 0; i < size; i++) out[to + i] = read[c * all * size + column + i]!
        }
      }
      // Of the last expert nothing more will be asked.
      if (end === experts * rows) known = undefined
      return out
    },
  }
}

/** Blocks of MXFP4, as [expert][row][block][codes], two in a byte, and [expert][row][block] exponents. */
function joined(blocks: Stored, scales: Stored, { step, first }: Turn, place: string): GivenTensor {
  const [experts = 0, all = 0, count = 0, bytes = 0] = blocks.shape
  const fits = (of: Stored, shape: readonly number[]) =>
    of.kind === 'U8' && of.shape.join() === shape.join() && of.to - of.from === shape.reduce((a, b) => a * b, 1)
  if (bytes !== CODES || !fits(blocks, [experts, all, count, CODES]) || !fits(scales, [experts, all, count])) {
    throw broken(
      place,
      `${blocks.name} and ${scales.name} do not belong together: blocks of MXFP4 and their exponents.`,
    )
  }
  return {
    names: [blocks.name, scales.name],
    shape: [experts, all / step, count * BLOCK],
    dtype: 'mxfp4',
    async read(slice, begin, end) {
      const part = async ({ file, from }: Stored, row: number) =>
        every(await slice(file, from + begin * step * row, from + end * step * row), row, step, first)
      const [codes, exponents] = await Promise.all([part(blocks, count * CODES), part(scales, count)])
      return asGgml(codes, exponents)
    },
  }
}

function plainOf({ name, dtype, kind, shape }: Stored, sides: number, place: string): PlainType {
  if (dtype && shape.length === sides) return dtype
  throw broken(
    place,
    `tensor ${name} is ${kind} [${shape.join('][')}]; F32, F16 and BF16 of ${sides} sides can be read.`,
  )
}

/** Of rows of so many bytes every `step`th, from the `first` on. */
function every(data: Uint8Array, bytes: number, step: number, first: number): Uint8Array {
  if (step === 1) return data
  const out = new Uint8Array(data.length / step)
  for (let to = 0, at = first * bytes; to < out.length; to += bytes, at += step * bytes) {
    out.set(data.subarray(at, at + bytes), to)
  }
  return out
}

/** ggml has the first sixteen codes of a block in the low halves of its bytes; here neighbours share one. */
function asGgml(codes: Uint8Array, exponents: Uint8Array): Uint8Array {
  const out = new Uint8Array(exponents.length * BLOCK_BYTES)
  exponents.forEach((exponent, block) => {
    const [from, to] = [block * CODES, block * BLOCK_BYTES]
    out[to] = exponent
    for (let i = 0; i < CODES / 2; i++) {
      const [low, high] = [codes[from + i]!, codes[from + CODES / 2 + i]!]
      out[to + 1 + 2 * i] = (low & 15) | ((high & 15) << 4)
      out[to + 2 + 2 * i] = (low >> 4) | (high & 0xf0)
    }
  })
  return out
}
