import type { MadeForm } from '../../../../generate/index.js'
import { halfToFloat, type JsonObject } from '../../../../platform/index.js'
import { broken, damaged } from '../../failure.js'
import type { RepositoryFiles } from '../../files.js'
import { digestOf } from '../../json.js'
import type { WeightOutline } from '../../source.js'
import type { RepositoryFormat } from '../format.js'
import { assertNamedOnce } from '../places.js'
import { POSITIONS, readConfig } from './config.js'
import { SYSTEMONE, takeMade } from './decision.js'
import { vectorForm } from './encoder.js'
import { type GgufHead, type GgufTensor, readBeginning, readHead } from './head.js'
import { readTokenizer } from './tokenizer.js'
import { typeOf } from './types.js'
import { ggufWeights } from './weights.js'

/** One file, or several that split one model, with everything in it: weights, hyperparameters and vocabulary. */
export const gguf: RepositoryFormat = {
  name: 'GGUF',
  mark: '*.gguf',
  async detect(files, signal) {
    const name = files.file
    if (name === undefined) return undefined
    const heads = await readHeads(files, name, signal)
    const [{ metadata }] = heads
    const stored = heads.flatMap(({ tensors }) => tensors)
    if (heads.length > 1) assertNamedOnce(files.place, stored)
    const positions = stored.filter(({ name }) => POSITIONS.test(name))
    const read = positions.map(async (tensor) => [
      tensor.name.replace('.weight', ''),
      await readFloats(files, tensor, signal),
    ])
    const all = readConfig(files.place, metadata, Object.fromEntries(await Promise.all(read)))
    const template = metadata.get(SYSTEMONE)
    const { fields, made, rowLength } = madeIn(files.place, all, template)
    const form = vectorForm(files.place, fields, template)
    const { naming = 'gguf', config = fields, sentence, decision } = form ?? {}
    const { tokenizer, tokenizerConfig } = readTokenizer(files.place, metadata, form !== undefined)
    const used = stored
      .filter((tensor) => !positions.includes(tensor))
      .map((tensor) => (form ? { ...tensor, name: form.rename(tensor.name) } : tensor))
    const head = rowLength === undefined ? {} : { rowLength }
    const described = { naming, chatConfig: config, sentence, ...(decision && { decision }), ...head }
    const outline = () => {
      const { names, describe } = ggufWeights(files, used)
      return { ...described, names, describe }
    }
    const ends = ['eos', 'eot', 'eom'].map((each) => metadata.get(`tokenizer.ggml.${each}_token_id`))
    return {
      text: {
        tokenizer,
        tokenizerConfig,
        chatConfig: config,
        ...(made && { made }),
        generationConfig: { eos_token_id: ends.filter((id) => typeof id === 'number'), ...recommended(metadata) },
      },
      wanted: heads.map(({ least }, i) => ({ name: partName(name, i, heads.length), least })),
      outline,
      open: () => ({
        ...described,
        ...ggufWeights(files, used),
        digest: digestOf(JSON.stringify(config), JSON.stringify(stored)),
      }),
    }
  },
}

/** What the model is for, by the first bytes of its file. */
export async function describeGguf(
  files: RepositoryFiles,
  name: string,
  signal: AbortSignal,
): Promise<Pick<WeightOutline, 'chatConfig' | 'sentence' | 'decision' | 'rowLength'>> {
  const metadata = await readBeginning(files, name, signal)
  const all = readConfig(files.place, metadata, {})
  // How it is asked stands behind the vocabulary, beyond what was read.
  const template = metadata.get(SYSTEMONE) ?? ''
  const { fields, rowLength } = madeIn(files.place, all, template)
  const form = vectorForm(files.place, fields, template)
  if (!form) return { chatConfig: fields, ...(rowLength !== undefined && { rowLength }) }
  const { config: chatConfig, sentence, decision } = form
  return { chatConfig, sentence, ...(decision && { decision }) }
}

interface Made {
  readonly fields: JsonObject
  readonly made?: MadeForm
  readonly rowLength?: number
}

const madeIn = (place: string, fields: JsonObject, template: unknown): Made =>
  takeMade(place, fields, template) ?? { fields }

/** How the model's makers would have it asked, in the words of transformers. */
function recommended(metadata: GgufHead['metadata']): JsonObject {
  const of = (name: string) => metadata.get(`general.sampling.${name}`)
  return {
    temperature: of('temp'),
    ...{ top_k: of('top_k'), top_p: of('top_p'), min_p: of('min_p') },
    repetition_penalty: of('penalty_repeat'),
  }
}

/** Of all the files of a model that was split, by the name of any. */
async function readHeads(
  files: RepositoryFiles,
  name: string,
  signal: AbortSignal,
): Promise<[GgufHead, ...GgufHead[]]> {
  const count = Number(name.match(SPLIT)?.[2] ?? 1)
  const read = (i: number) => readHead(files, partName(name, i, count), signal)
  const first = await read(0)
  const named = Number(first.metadata.get('split.count') ?? 1) || 1
  if (named !== count) {
    throw broken(files.place, `${name} is one of ${named} parts, whose names end in -00001-of-${digits(named)}.gguf.`)
  }
  const others = await Promise.all(Array.from({ length: count - 1 }, (_, i) => read(i + 1)))
  const tensors = [first, ...others].reduce((sum, head) => sum + head.tensors.length, 0)
  const wanted = first.metadata.get('split.tensors.count') ?? tensors
  if (tensors !== wanted) throw damaged(files.place, `its ${count} parts have ${tensors} tensors instead of ${wanted}.`)
  return [first, ...others]
}

const SPLIT = /-(\d{5})-of-(\d{5})\.gguf$/
const digits = (value: number) => String(value).padStart(5, '0')

const partName = (name: string, i: number, count: number) =>
  count === 1 ? name : name.replace(SPLIT, `-${digits(i + 1)}-of-${digits(count)}.gguf`)

async function readFloats(files: RepositoryFiles, tensor: GgufTensor, signal: AbortSignal): Promise<number[]> {
  const { name, file, from, bytes } = tensor
  const { form, label } = typeOf(tensor.type)
  const data = await files.head(file, from, from + bytes, signal)
  if (data.length < bytes) throw damaged(files.place, `${file} is incomplete: it ends within ${name}.`)
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (form === 'f32') return Array.from({ length: bytes / 4 }, (_, i) => view.getFloat32(4 * i, true))
  if (form === 'f16') return Array.from({ length: bytes / 2 }, (_, i) => halfToFloat(view.getUint16(2 * i, true)))
  throw broken(files.place, `tensor ${name} has the type ${label}; F32 and F16 can be read.`)
}
