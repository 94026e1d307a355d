import { isRecord, type JsonObject } from '../../platform/json.js'
import { broken } from '../failure.js'
import { fetchAll } from '../fetch-all.js'
import type { RepositoryFiles } from '../files.js'
import { digestOf, parseJson } from '../json.js'
import type { LoadReport } from '../progress.js'
import type { RawTensor, TensorType, WeightCheck, WeightSource } from '../source.js'

interface Placed extends Omit<RawTensor, 'data'> {
  readonly shard: string
  readonly offset: number
  readonly bytes: number
}

interface Shard {
  readonly name: string
  readonly bytes: number
  readonly md5?: string
  /** Tensors not read yet. */
  left: number
}

const TYPES = new Map<string, TensorType>([
  ['float32', 'f32'],
  ['float16', 'f16'],
  ['bfloat16', 'bf16'],
  ['uint32', 'u32'],
])
const SIZES: Readonly<Record<TensorType, number>> = { f32: 4, f16: 2, bf16: 2, u32: 4 }

/** WebLLM's newer versions write the first name, older ones the second. */
const MANIFESTS = ['tensor-cache.json', 'ndarray-cache.json']

/** The weights of an MLC repository: a manifest of tensors within shards. */
export async function openMlc(
  files: RepositoryFiles,
  chatConfig: JsonObject,
  report: LoadReport,
  signal: AbortSignal,
  check?: WeightCheck,
): Promise<WeightSource> {
  const { name, text } = await readManifest(files, signal)
  const { shards, tensors } = parseManifest(files.place, name, parseJson(files.place, name, text))
  const find = (tensor: string): Placed => {
    const found = tensors.get(tensor)
    if (!found) throw broken(files.place, `${name} names no tensor ${tensor}.`)
    return found
  }
  const outline = {
    chatConfig,
    names: [...tensors.keys()],
    describe: (tensor: string) => describe(find(tensor)),
  }
  check?.(outline)
  await fetchAll(files, [...shards.values()], report, signal)
  return {
    ...outline,
    has: (tensor) => tensors.has(tensor),
    digest: digestOf(text, JSON.stringify(chatConfig)),
    async read(tensor, reading) {
      reading?.throwIfAborted()
      const placed = find(tensor)
      const data = await files.slice(placed.shard, placed.offset, placed.offset + placed.bytes)
      const shard = shards.get(placed.shard)!
      if (--shard.left === 0) files.release(shard.name)
      return { ...describe(placed), data }
    },
  }
}

/** Makes all shards ready and leaves what is in them to an engine that reads them itself. */
export async function fetchShards(files: RepositoryFiles, report: LoadReport, signal: AbortSignal): Promise<void> {
  const { name, text } = await readManifest(files, signal)
  const entries = recordsOf(parseJson(files.place, name, text))
  const shards = entries.map((entry) => readShard(files.place, name, entry))
  await fetchAll(files, shards, report, signal)
}

const describe = ({ name, shape, dtype }: Placed): Omit<RawTensor, 'data'> => ({ name, shape, dtype })

async function readManifest(files: RepositoryFiles, signal: AbortSignal): Promise<{ name: string; text: string }> {
  for (const name of MANIFESTS) {
    const text = await files.text(name, signal)
    if (text !== undefined) return { name, text }
  }
  throw broken(files.place, `it has neither ${MANIFESTS.join(' nor ')}.`)
}

function parseManifest(place: string, name: string, manifest: JsonObject) {
  const shards = new Map<string, Shard>()
  const tensors = new Map<string, Placed>()
  for (const entry of recordsOf(manifest)) {
    const shard = readShard(place, name, entry)
    shards.set(shard.name, shard)
    for (const record of recordsOf(entry)) {
      const placed = placeTensor(place, record, shard.name, shard.bytes)
      tensors.set(placed.name, placed)
    }
  }
  if (tensors.size === 0) throw broken(place, `${name} names no tensors.`)
  return { shards, tensors }
}

function readShard(place: string, manifest: string, entry: JsonObject): Shard {
  // Exporters write the hash in two spellings.
  const { dataPath, nbytes, md5Sum, md5sum = md5Sum, format = 'raw-shard' } = entry
  if (typeof dataPath !== 'string' || !isSize(nbytes) || format !== 'raw-shard') {
    throw broken(place, `${manifest} has a shard that is not in the form "raw-shard".`)
  }
  const md5 = typeof md5sum === 'string' ? { md5: md5sum } : {}
  return { name: dataPath, bytes: nbytes, ...md5, left: recordsOf(entry).length }
}

function placeTensor(place: string, record: JsonObject, shard: string, shardBytes: number): Placed {
  const { name, shape, dtype, format, nbytes: bytes, byteOffset: offset } = record
  const packed = format === 'f32-to-bf16' && dtype === 'float32'
  const type = packed ? 'bf16' : TYPES.get(String(dtype))
  if (!packed && format !== 'raw')
    throw broken(place, `tensor ${String(name)} has the unknown format ${String(format)}.`)
  if (!type) throw broken(place, `tensor ${String(name)} has the unknown type ${String(dtype)}.`)
  if (typeof name !== 'string' || !Array.isArray(shape) || !shape.every(isSize) || !isSize(bytes) || !isSize(offset)) {
    throw broken(place, `a tensor in ${shard} lacks a name, a shape or a place.`)
  }
  const needed = shape.reduce((product: number, side: number) => product * side, SIZES[type])
  if (needed !== bytes || offset + bytes > shardBytes) {
    throw broken(place, `tensor ${name} needs ${needed} bytes and has ${bytes} at ${offset} of ${shard}.`)
  }
  return { name, shape, dtype: type, shard, offset, bytes }
}

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function recordsOf(value: JsonObject): JsonObject[] {
  return Array.isArray(value.records) ? value.records.filter(isRecord) : []
}
