/** Everything about a model on a device that is known from the heads of its files. Made once, and handed on. */

import type { Device } from '../device/index.js'
import {
  type CacheTypeChoice,
  cacheTypeCalled,
  isPackedCacheType,
  keepsHeads,
  type PackedCacheType,
} from '../platform/index.js'
import { readModel } from './architectures/index.js'
import { assertLayers } from './assert-layers.js'
import { assertPlain } from './assert-plain.js'
import type { WeightOutline } from './files/source.js'
import { planKept } from './kept.js'
import type { LayerPlan, ModelPlan } from './model-plan.js'
import { planTensors } from './plan-tensors.js'
import type { PlannedTensors } from './planned.js'
import { pointingBytes } from './pointing/load-pointing.js'
import { type PlannedPointing, planPointing } from './pointing/plan-pointing.js'
import { refuse } from './refuse.js'
import { isWide, type ModelSize, type SizeOptions, sizeOf } from './size.js'

export interface PlanOptions extends Omit<SizeOptions, 'cacheType'> {
  /** How keys and values are kept; `auto`: what the weights say once they are there, with room for f16. */
  readonly cacheType?: CacheTypeChoice
  /** Nothing is said of it: `auto` where that can be, and 8 bits are known to be faster. @default as the model's own files say */
  readonly choosesCache?: boolean
  /** Plain matrices get four bits on their way to the device. @default they stay as they are */
  readonly quantize?: 'q4f16_1'
  /** A head that guesses tokens is loaded too, where the weights have one. @default it is not */
  readonly draftHead?: boolean
}

export interface LoadPlan {
  readonly model: ModelPlan
  readonly tensors: PlannedTensors
  readonly size: ModelSize
  /** With a cache in 8 bits, which the model may have instead if `auto` was asked for. */
  readonly packed?: ModelSize
  /** What points at stretches of a text beside the decoder that writes. */
  readonly pointing?: PlannedPointing
}

/** Throws what is unknown, missing, malformed or short, by name. */
export function planModel(outline: WeightOutline, device: Device, options: PlanOptions = {}): LoadPlan {
  assertPlain(outline, options.name ?? 'This model')
  assertLayers(outline, options.name ?? 'This model')
  const { architecture, model: read } = readModel(outline.chatConfig, options.name, outline.naming)
  const { rowLength } = outline
  const whole = rowLength === undefined ? read : { ...read, rowLength }
  if (whole.layers.some(seesAhead)) {
    throw refuse(options.name ?? 'This model', 'text from a model that sees what follows (use_bidirectional_attention)')
  }
  const drafts = options.draftHead === true && rowLength === undefined
  const pointing = planPointing(outline, whole, options.name ?? 'This model')
  const own = pointing?.trunk ?? outline
  const tensors = planTensors(own, architecture, whole, options.quantize !== undefined, options.name, drafts)
  const { draftHead, ...body } = whole
  const model = tensors.draftHead && draftHead ? { ...body, draftHead } : body
  const { cacheType: named = ownCacheType(outline, device), choosesCache, ...others } = options
  const cannot = rowLength !== undefined ? 'of a model that writes no text' : isWide(outline) && 'beside weights in f32'
  const mayChoose = choosesCache === true && !cannot && device.info.kind === 'cpu' && keepsAllHeads(model)
  const cacheType = named ?? (mayChoose ? 'auto' : undefined)
  const more = pointing ? pointingBytes(device, pointing.planned, model) : 0
  const size = (cacheType?: SizeOptions['cacheType']) =>
    sizeOf(device, model, tensors, own, { ...others, ...(cacheType && { cacheType }) }, more)
  const plan = { model, tensors, ...(pointing && { pointing: pointing.planned }) }
  if (cacheType !== 'auto') return { ...plan, size: size(cacheType) }
  if (cannot)
    throw refuse(options.name ?? 'This model', `${cacheTypeCalled(cacheType)} ${cannot}`, 'Leave cacheType away.')
  // The smaller one first: it says what 8 bits are refused for.
  const packed = size('q8_0')
  return { ...plan, size: size('f16'), packed }
}

/** What a model's own files say it does well with, where that is faster: on the CPU. On a GPU nobody has measured it. */
function ownCacheType({ chatConfig }: WeightOutline, { info }: Device): PackedCacheType | undefined {
  const { cpu_cache_type: type } = chatConfig
  return info.kind === 'cpu' && isPackedCacheType(type) ? type : undefined
}

/** In blocks of 8 bits. */
const keepsAllHeads = (model: ModelPlan): boolean =>
  planKept(model, false).caches.every(({ headSize }) => keepsHeads('q8_0', headSize))

const seesAhead = (layer: LayerPlan): boolean =>
  (layer.kind === 'attention' && layer.causal === false) || (layer.kind === 'convolution' && layer.centred === true)
