import type { TextFiles } from '../../../generate/index.js'
import { allOver, isRecord, type JsonObject } from '../../../platform/index.js'
import { broken, damaged } from '../failure.js'
import type { RepositoryFiles } from '../files.js'
import { digestOf, parseJson } from '../json.js'
import { type PlainType, type RawTensor, SIZES } from '../source.js'
import { readText } from '../text.js'
import type { RepositoryFormat } from './format.js'
import { assertNoOverlap } from './places.js'

interface Placed extends Omit<RawTensor, 'data'> {
  readonly shard: string
  readonly offset: number
  readonly bytes: number
}

interface Shard {
  readonly name: string
  readonly bytes: number
  readonly md5?: string
  readonly sha256?: string
  /** Tensors not read yet. */
  left: number
}

const TYPES = new Map<string, PlainType>([
  ['float32', 'f32'],
  ['float16', 'f16'],
  ['bfloat16', 'bf16'],
  ['uint32', 'u32'],
])

/** WebLLM's newer versions write the first name, older ones the second. */
const MANIFESTS = ['tensor-cache.json', 'ndarray-cache.json']

export const MLC_CONFIG = 'mlc-chat-config.json'

/** A manifest of tensors within shards, and a configuration that says what text they were trained on. */
export const mlc: RepositoryFormat = {
  name: 'an MLC repository',
  mark: MLC_CONFIG,
  async detect(files, signal) {
    const chatConfig = await configOfMlc(files, signal)
    if (!chatConfig) return undefined
    const texts = readText(files, chatConfig, listed(chatConfig), signal)
    const [text, { name, text: manifest }] = await allOver([texts, readManifest(files, signal)])
    const entries = recordsOf(parseJson(files.place, name, manifest))
    const shards = new Map<string, Shard>()
    for (const entry of entries) {
      const shard = readShard(files.place, name, entry)
      if (shards.has(shard.name)) throw damaged(files.place, `${name} names the shard ${shard.name} twice.`)
      shards.set(shard.name, shard)
    }
    // Whoever takes the shards alone (WebLLM) may know tensors that cannot be read here.
    let placed: ReadonlyMap<string, Placed> | undefined
    const tensors = () => {
      placed ??= placeTensors(files.place, name, entries)
      return placed
    }
    const find = (tensor: string): Placed => {
      const found = tensors().get(tensor)
      if (!found) throw damaged(files.place, `${name} names no tensor ${tensor}.`)
      return found
    }
    const outline = () => ({
      chatConfig,
      names: [...tensors().keys()],
      describe: (tensor: string) => describe(find(tensor)),
    })
    return {
      text,
      wanted: [...shards.values()],
      outline,
      open: () => ({
        ...outline(),
        has: (tensor) => tensors().has(tensor),
        digest: digestOf(manifest, JSON.stringify(chatConfig)),
        async read(tensor, reading, into) {
          reading?.throwIfAborted()
          const { shard: within, offset, bytes, ...known } = find(tensor)
          const data = await files.slice(within, offset, offset + bytes, into)
          const shard = shards.get(within)!
          if (--shard.left === 0) files.release(shard.name)
          return { ...known, data }
        },
      }),
    }
  },
}

/** What it says about text, for an engine that takes its weights elsewhere; undefined where it is none. */
export async function textOfMlc(files: RepositoryFiles, signal: AbortSignal): Promise<TextFiles | undefined> {
  const config = await configOfMlc(files, signal)
  return config && readText(files, config, listed(config), signal)
}

async function configOfMlc(files: RepositoryFiles, signal: AbortSignal): Promise<JsonObject | undefined> {
  const given = await files.text(MLC_CONFIG, signal)
  return given === undefined ? undefined : parseJson(files.place, MLC_CONFIG, given)
}

/** The files about text that the repository says it has. */
function listed(config: JsonObject): ReadonlySet<string> | undefined {
  return Array.isArray(config.tokenizer_files) ? new Set(config.tokenizer_files.map(String)) : undefined
}

const describe = ({ name, shape, dtype }: Placed): Omit<RawTensor, 'data'> => ({ name, shape, dtype })

async function readManifest(files: RepositoryFiles, signal: AbortSignal): Promise<{ name: string; text: string }> {
  for (const name of MANIFESTS) {
    const text = await files.text(name, signal)
    if (text !== undefined) return { name, text }
  }
  throw broken(files.place, `it has neither ${MANIFESTS.join(' nor ')}.`)
}

function placeTensors(place: string, manifest: string, entries: readonly JsonObject[]): Map<string, Placed> {
  const tensors = new Map<string, Placed>()
  for (const entry of entries) {
    const shard = readShard(place, manifest, entry)
    const within = recordsOf(entry).map((record) => placeTensor(place, record, shard.name, shard.bytes))
    const ends = within.map(({ name, offset, bytes }) => ({ name, from: offset, to: offset + bytes }))
    assertNoOverlap(place, shard.name, ends)
    for (const placed of within) {
      if (tensors.has(placed.name)) throw damaged(place, `it has the tensor ${placed.name} twice.`)
      tensors.set(placed.name, placed)
    }
  }
  if (tensors.size === 0) throw damaged(place, `${manifest} names no tensors.`)
  return tensors
}

function readShard(place: string, manifest: string, entry: JsonObject): Shard {
  // Exporters write the hash in two spellings. Ours adds the one that browsers compute themselves.
  const { dataPath, nbytes, md5Sum, md5sum = md5Sum, sha256, format = 'raw-shard' } = entry
  if (typeof dataPath !== 'string' || !isSize(nbytes) || format !== 'raw-shard') {
    throw broken(place, `${manifest} has a shard that is not in the form "raw-shard".`)
  }
  const hashes = {
    ...(typeof md5sum === 'string' && { md5: md5sum }),
    ...(typeof sha256 === 'string' && { sha256 }),
  }
  return { name: dataPath, bytes: nbytes, ...hashes, left: recordsOf(entry).length }
}

function placeTensor(place: string, record: JsonObject, shard: string, shardBytes: number): Placed {
  const { name, shape, dtype, format, nbytes: bytes, byteOffset: offset } = record
  const packed = format === 'f32-to-bf16' && dtype === 'float32'
  const type = packed ? 'bf16' : TYPES.get(String(dtype))
  if (!packed && format !== 'raw')
    throw broken(place, `tensor ${String(name)} has the unknown format ${String(format)}.`)
  if (!type) throw broken(place, `tensor ${String(name)} has the unknown type ${String(dtype)}.`)
  if (typeof name !== 'string' || !Array.isArray(shape) || !shape.every(isSize) || !isSize(bytes) || !isSize(offset)) {
    throw damaged(place, `a tensor in ${shard} lacks a name, a shape or a place.`)
  }
  const needed = shape.reduce((product: number, side: number) => product * side, SIZES[type])
  if (needed !== bytes || offset + bytes > shardBytes) {
    throw damaged(place, `tensor ${name} needs ${needed} bytes and has ${bytes} at ${offset} of ${shard}.`)
  }
  return { name, shape, dtype: type, shard, offset, bytes }
}

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function recordsOf(value: JsonObject): JsonObject[] {
  return Array.isArray(value.records) ? value.records.filter(isRecord) : []
}
