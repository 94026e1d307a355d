/** What a model takes on a device, and what would fit where it does not. Names nothing that does not exist. */
import { V1Error } from '../../contract/index.js'
import type { Device } from '../../device/index.js'
import { canShrink, type WeightOutline } from '../../models/index.js'
import { cacheTypeCalled, isPackedCacheType, keepsHeads, PACKED_CACHE_TYPES } from '../../platform/index.js'
import { planLoad } from './loaded-model.js'
import { type MemoryParts, memoryParts, sumOf } from './memory-parts.js'
import type { ModelOptions, OfferedModel } from './options.js'

/** `model`: another quantisation in the same repository. */
export interface Remedy extends Pick<ModelOptions, 'contextLength' | 'cacheType' | 'quantize'> {
  readonly how: string
  readonly memoryBytes: number
  readonly model?: string
}

export interface Sized {
  readonly memoryBytes: number
  readonly memory: MemoryParts
  readonly contextLength: number
  /** Absent: it generates nothing. */
  readonly layers?: number
}

/** What a model takes with its options, or what it lacks. */
export function sizeWithin(device: Device, outline: WeightOutline, free: number) {
  return (model: OfferedModel): Sized | string => {
    const plan = planWithin(device, outline, model)
    if (typeof plan === 'string') return plan
    const memory = memoryParts(plan)
    const total = sumOf(memory)
    if (total > free) return `it needs ${mib(total)} of memory, and ${mib(free)} are free`
    const { contextLength } = plan.size
    const layers = layersOf(plan)?.length
    return { memoryBytes: total, memory, contextLength, ...(layers !== undefined && { layers }) }
  }
}

/** Or why the device is too small for it. */
function planWithin(device: Device, outline: WeightOutline, model: OfferedModel): Plan | string {
  try {
    return planLoad(model, outline, device, 1)
  } catch (error) {
    if (V1Error.is(error) && error.code === 'device_too_small') return error.message
    throw error
  }
}

type Plan = ReturnType<typeof planLoad>
/** Undefined: it generates nothing. */
const layersOf = (plan: Plan) => ('model' in plan && 'layers' in plan.model ? plan.model.layers : undefined)

const mib = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`

export interface Surrounding {
  readonly device: Device
  readonly outline: WeightOutline
  /** Bytes that models may take, beside the device's own limits. */
  readonly free: number
  /** Quantisations in the same repository, and the bytes of their files. */
  readonly siblings: ReadonlyMap<string, number>
  /** Of the model's own files. */
  readonly bytes: number
}

/** What would fit of a model that does not: a smaller quantisation first, then the same file otherwise. */
export function alternatives(model: OfferedModel, of: Surrounding): Remedy[] {
  const plan = planWithin(endless(of.device), of.outline, model)
  // It lacks what no memory makes up for.
  if (typeof plan === 'string') return []
  return [...smallerOnHub(model, of, plan), ...instead(model, of, plan)]
}

/** The largest of the same model that fits as it was asked for: blocks take as much memory as in their file. */
function smallerOnHub(
  { location }: OfferedModel,
  { device, outline, free, siblings, bytes }: Surrounding,
  plan: Plan,
): Remedy[] {
  if (location.kind !== 'hub' || outline.naming !== 'gguf' || siblings.size === 0) return []
  const needed = sumOf(memoryParts(plan))
  const most = Math.min(free, device.limits.totalBytes ?? Number.POSITIVE_INFINITY)
  const fitting = [...siblings]
    .map(([quantisation, size]) => ({ quantisation, size, memoryBytes: needed - bytes + size }))
    .filter(({ size, memoryBytes }) => size < bytes && memoryBytes <= most)
    .sort((a, b) => b.size - a.size)
  return fitting.slice(0, 1).map(({ quantisation, memoryBytes }) => {
    const name = `hf:${location.repository}:${quantisation}`
    return { how: name, model: name, memoryBytes }
  })
}

/** The device as if its memory had no end: whatever can run at all is planned on it. */
function endless(device: Device): Device {
  const limits = { ...device.limits, totalBytes: Number.POSITIVE_INFINITY, tensorBytes: Number.POSITIVE_INFINITY }
  return new Proxy(device, {
    get(target, key) {
      if (key === 'limits') return limits
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** A packed cache, a shorter context, four bits, two of these; nothing where none would do: then only a smaller model will. */
function instead(model: OfferedModel, { device, outline, free }: Surrounding, whole: Plan): Remedy[] {
  const sized = sizeWithin(device, outline, free)
  const plain = outline.names.some((name) => {
    const { dtype, shape } = outline.describe(name)
    return name.endsWith('.weight') && shape.length === 2 && dtype !== 'u32' && canShrink(dtype)
  })
  const contexts = [4096, 2048, 1024, 512].filter((length) => length < (model.contextLength ?? 8192))
  const cut = contexts.map((contextLength): Way => ({ how: `a context of ${contextLength}`, contextLength }))
  const kept = packedCaches(whole)
  const four = plain ? [FOUR_BITS] : []
  const both = (one: Way) => (other: Way) => ({ ...one, ...other, how: `${one.how} and ${other.how}` })
  const options = [...kept, ...cut, ...four, ...[...kept, ...four].flatMap((one) => cut.map(both(one)))]
  for (const { how, ...option } of options) {
    const found = sized({ ...model, ...option })
    if (typeof found !== 'string') return [{ how, memoryBytes: found.memoryBytes, ...option }]
  }
  return []
}

/** Those that may be named: it keeps keys and values, in whole blocks, and otherwise so far. */
function packedCaches(plan: Plan): Way[] {
  const packs = 'cacheType' in plan.size && isPackedCacheType(plan.size.cacheType)
  const layers = packs ? undefined : layersOf(plan)
  if (!layers) return []
  return PACKED_CACHE_TYPES.filter((type) =>
    layers.every((layer) => layer.kind !== 'attention' || keepsHeads(type, layer.headSize)),
  ).map((type) => ({ how: cacheTypeCalled(type), cacheType: type }))
}

type Way = Omit<Remedy, 'memoryBytes' | 'model'>
const FOUR_BITS: Way = { how: "quantize: 'q4f16_1'", quantize: 'q4f16_1' }
