/**
 * MLX's four bits, as mlx-lm writes them: transformers' files, in which a matrix is a tensor of codes, eight to a word, and
 * of each group in a row a scale and what is added: code * scale + bias. That is ggml's Q4_1 with larger groups, and so
 * it is given, number for number.
 */
import { floatToHalf, halfToFloat, isRecord, type JsonObject } from '../../../platform/index.js'
import { broken } from '../failure.js'
import { parseJson } from '../json.js'
import { storedRows } from '../rows.js'
import type { RepositoryFormat } from './format.js'
import { readTransformers, type TransformersModel } from './safetensors.js'

const CONFIG = 'config.json'
/** Codes of a block of Q4_1, and its bytes: scale, least, codes. */
const BLOCK = 32
const BLOCK_BYTES = 20
const GROUPS: readonly unknown[] = [32, 64, 128]
/** mlx-lm has the channels of a convolution last: [channels][taps][1], the same bytes as transformers' [channels][1][taps]. */
const KERNEL = /\.conv(1d)?\.weight$/
/** Of these it stores the norms' weights with the one in them that transformers adds. */
const GROWN = { types: /^qwen3_5/, names: /(_layernorm|model\.norm|\.[qk]_norm)\.weight$/ }

export const mlx: RepositoryFormat = {
  name: 'MLX',
  mark: `${CONFIG} with a "quantization"`,
  async detect(files, signal) {
    const given = await files.text(CONFIG, signal)
    // It says the same twice.
    const {
      quantization,
      quantization_config: _,
      ...config
    } = given === undefined ? ({} as JsonObject) : parseJson(files.place, CONFIG, given)
    if (!isRecord(quantization)) return undefined
    const group = groupOf(quantization, files.place)
    const model = await readTransformers(files, config, signal)
    const matrices = matricesOf(model, group, files.place)
    const plain = model.outline()
    const isKernel = (name: string) => KERNEL.test(name) && plain.describe(name).shape[2] === 1
    // As mlx-lm itself tells whether it has been there.
    const grown = GROWN.types.test(String(config.model_type)) && plain.names.some(isKernel)
    const isGrown = (name: string) => grown && GROWN.names.test(name)
    const outline = {
      ...plain,
      names: plain.names.filter(
        (name) => !matrices.has(name.replace(/\.(scales|biases)$/, '')) || name.endsWith('.weight'),
      ),
      describe(name: string) {
        const matrix = matrices.get(name.replace(/\.weight$/, ''))
        if (matrix) return { name, shape: [matrix.rows, matrix.columns], dtype: 'q4_1' as const }
        const given = plain.describe(name)
        const [channels, taps] = given.shape
        if (isKernel(name)) return { ...given, shape: [channels!, 1, taps!] }
        return isGrown(name) ? { ...given, dtype: 'f32' as const } : given
      },
    }
    return {
      ...model,
      outline: () => outline,
      open() {
        const source = model.open()
        const blocks = async (matrix: MlxMatrix, first: number, last: number) => {
          const part = ({ file, from, to }: Stored) => {
            const bytes = (to - from) / matrix.rows
            return source.slice(file, from + first * bytes, from + last * bytes)
          }
          const [codes, scales, biases] = await Promise.all([
            part(matrix.codes),
            part(matrix.scales),
            part(matrix.biases),
          ])
          return blocksOf(codes, halvesOf(scales, matrix.scales.kind), halvesOf(biases, matrix.biases.kind), group)
        }
        return {
          ...source,
          ...outline,
          has: (name) => outline.names.includes(name),
          async read(name, reading) {
            const matrix = matrices.get(name.replace(/\.weight$/, ''))
            if (!matrix) {
              const { data } = await source.read(name, reading)
              if (!isGrown(name)) return { ...outline.describe(name), data }
              const less = floatsOf(data, model.stored(name).kind).map((value) => value - 1)
              return { ...outline.describe(name), data: new Uint8Array(less.buffer) }
            }
            reading?.throwIfAborted()
            return { ...outline.describe(name), data: await blocks(matrix, 0, matrix.rows) }
          },
          rows(name) {
            const matrix = matrices.get(name)
            if (!matrix) return source.rows!(name)
            const bytes = (matrix.columns / BLOCK) * BLOCK_BYTES
            return storedRows('q4_1', matrix.columns, (from, to) => blocks(matrix, from / bytes, to / bytes))
          },
        }
      },
    }
  },
}

type Stored = ReturnType<TransformersModel['stored']>

interface MlxMatrix {
  readonly rows: number
  readonly columns: number
  readonly codes: Stored
  readonly scales: Stored
  readonly biases: Stored
}

/** Refuses by name what is stored in another way. */
function groupOf({ group_size: group, bits, mode = 'affine', ...others }: JsonObject, place: string): number {
  const [key] = Object.keys(others)
  const odd =
    bits !== 4
      ? { bits }
      : !GROUPS.includes(group)
        ? { group_size: group }
        : mode !== 'affine'
          ? { mode }
          : key && { [key]: others[key] }
  if (!odd) return group as number
  const message = `its "quantization" has ${JSON.stringify(odd).slice(1, -1)}; all matrices in 4 bits can be read, in groups of 32, 64 or 128.`
  throw broken(place, message)
}

function matricesOf(model: TransformersModel, group: number, place: string): Map<string, MlxMatrix> {
  const scaled = model.outline().names.filter((name) => name.endsWith('.scales'))
  return new Map(
    scaled.map((name) => {
      const matrix = name.slice(0, -'.scales'.length)
      const [codes, scales, biases] = ['weight', 'scales', 'biases'].map((part) => model.stored(`${matrix}.${part}`))
      const [rows = 0, words = 0] = codes!.shape
      const columns = 8 * words
      const fits = ({ shape, dtype }: Stored) =>
        dtype && shape[0] === rows && shape[1] === columns / group && shape.length === 2
      if (codes!.kind !== 'U32' || codes!.to - codes!.from !== 4 * rows * words || !fits(scales!) || !fits(biases!)) {
        throw broken(
          place,
          `the parts of ${matrix} do not belong together: codes, scales and biases of groups of ${group}.`,
        )
      }
      return [matrix, { rows, columns, codes: codes!, scales: scales!, biases: biases! }]
    }),
  )
}

/** Numbers of whatever type. */
function floatsOf(bytes: Uint8Array, kind: string): Float32Array<ArrayBuffer> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (kind === 'F32') return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true))
  const words = Uint16Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true))
  if (kind === 'F16') return Float32Array.from(words, halfToFloat)
  return new Float32Array(Uint32Array.from(words, (word) => word << 16).buffer)
}

/** Scales of weights lie well within what halves can say. */
const halvesOf = (bytes: Uint8Array, kind: string): Uint16Array => Uint16Array.from(floatsOf(bytes, kind), floatToHalf)

/** Q4_1 has the first sixteen codes of a block in the low halves of its bytes; MLX has neighbours in one byte. */
function blocksOf(codes: Uint8Array, scales: Uint16Array, biases: Uint16Array, group: number): Uint8Array {
  const blocks = codes.length / (BLOCK / 2)
  const out = new Uint8Array(blocks * BLOCK_BYTES)
  const view = new DataView(out.buffer)
  for (let block = 0; block < blocks; block++) {
    const from = block * (BLOCK / 2)
    const to = block * BLOCK_BYTES
    const of = Math.floor((block * BLOCK) / group)
    view.setUint16(to, scales[of]!, true)
    view.setUint16(to + 2, biases[of]!, true)
    for (let i = 0; i < 8; i++) {
      const [first, second] = [codes[from + i]!, codes[from + 8 + i]!]
      out[to + 4 + 2 * i] = (first & 15) | ((second & 15) << 4)
      out[to + 5 + 2 * i] = (first >> 4) | (second & 0xf0)
    }
  }
  return out
}
