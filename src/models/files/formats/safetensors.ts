import { isRecord, type JsonObject } from '../../../platform/index.js'
import { broken, damaged } from '../failure.js'
import type { RepositoryFiles } from '../files.js'
import { digestOf, parseJson } from '../json.js'
import { readAhead } from '../read-ahead.js'
import { storedRows } from '../rows.js'
import { foldersWithWeights, readSentence } from '../sentence.js'
import type { WeightSource } from '../source.js'
import { readText } from '../text.js'
import type { FoundModel, RepositoryFormat } from './format.js'
import { assertNamedOnce } from './places.js'
import { readHeader, type StoredTensor } from './safetensors-header.js'

const CONFIG = 'config.json'
const INDEX = 'model.safetensors.index.json'
const SINGLE = 'model.safetensors'

/** Plain weights as transformers writes them. Their heads are read, and may be refused, before the rest is fetched. */
export const safetensors: RepositoryFormat = {
  name: 'safetensors',
  mark: CONFIG,
  async detect(files, signal) {
    const given = await files.text(CONFIG, signal)
    return given === undefined ? undefined : readTransformers(files, parseJson(files.place, CONFIG, given), signal)
  },
}

/** For formats that keep something else in such files. */
export interface TransformersModel extends FoundModel {
  stored(name: string): StoredTensor
  /** `slice`: bytes of a file. */
  open(): WeightSource & { slice(file: string, from: number, to: number): Promise<Uint8Array> }
}

/** Where a repository differs from transformers' own. */
export interface TransformersForm {
  readonly decision?: JsonObject
  /** Where the files about text lie. */
  readonly text?: Pick<RepositoryFiles, 'place' | 'text'>
  rename?(tensor: string): string
}

export async function readTransformers(
  files: RepositoryFiles,
  chatConfig: JsonObject,
  signal: AbortSignal,
  { decision, text: texts = files, rename = (name) => name }: TransformersForm = {},
): Promise<TransformersModel> {
  const text = await readText(texts, chatConfig, undefined, signal)
  const sentence = await readSentence(files, signal)
  const folders = sentence ? foldersWithWeights(sentence) : []
  const names = [...(await namesOf(files, signal)), ...folders.map((folder) => `${folder}/${SINGLE}`)]
  const heads = await Promise.all(names.map((name) => readHeader(files, name, signal)))
  const stored = heads.flatMap(({ tensors }, i) => {
    const folder = names[i]!.includes('/') ? names[i]!.replace(/[^/]+$/, '') : ''
    return tensors.map((tensor) => ({ ...tensor, name: `${folder}${rename(tensor.name)}` }))
  })
  if (names.length > 1) assertNamedOnce(files.place, stored)
  const tensors = new Map(stored.map((tensor) => [tensor.name, tensor]))
  const find = (name: string) => {
    const found = tensors.get(name)
    if (!found) throw damaged(files.place, `it has no tensor ${name}.`)
    return found
  }
  const describe = (name: string) => {
    const { shape, dtype, kind } = find(name)
    if (dtype) return { name, shape, dtype }
    throw broken(files.place, `tensor ${name} has the type ${kind}; F32, F16 and BF16 can be read.`)
  }
  const described = { naming: 'huggingface', chatConfig, sentence, ...(decision && { decision }) } as const
  const outline = { ...described, names: [...tensors.keys()], describe }
  return {
    text,
    wanted: heads.map(({ bytes }, i) => ({ name: names[i]!, bytes })),
    stored: find,
    outline: () => outline,
    open: () => {
      const slice = readAhead(files, (name) => heads[names.indexOf(name)]?.bytes ?? 0)
      return {
        ...outline,
        slice,
        has: (name) => tensors.has(name),
        digest: digestOf(
          JSON.stringify(chatConfig),
          JSON.stringify(stored),
          ...(sentence ? [JSON.stringify(sentence)] : []),
          ...(decision ? [JSON.stringify(decision)] : []),
        ),
        async read(name, reading) {
          reading?.throwIfAborted()
          const { file, from, to } = find(name)
          return { ...describe(name), data: await slice(file, from, to) }
        },
        rows(name) {
          const full = tensors.has(`${name}.weight`) ? `${name}.weight` : name
          const { file, from } = find(full)
          const { shape, dtype } = describe(full)
          return storedRows(dtype, shape.at(-1)!, (start, end, _, into) => slice(file, from + start, from + end, into))
        },
      }
    },
  }
}

async function namesOf(files: RepositoryFiles, signal: AbortSignal): Promise<string[]> {
  const text = await files.text(INDEX, signal)
  if (text === undefined) return [SINGLE]
  const { weight_map: map } = parseJson(files.place, INDEX, text)
  if (!isRecord(map)) throw damaged(files.place, `${INDEX} has no weight_map.`)
  return [...new Set(Object.values(map).map(String))]
}
