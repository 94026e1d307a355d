import { idOf, locationOf, REPOSITORY_ID } from '../../models/index.js'
import { assertOptions, CACHE_TYPES_LISTED, isCacheTypeChoice } from '../../platform/index.js'
import { assertDraftName } from '../drafts.js'
import { MODEL_OPTIONS, type ModelOptions, type OfferedModel } from './options.js'

/** Reads what a user wrote in `models`. */
export function offeredModel(model: string | ModelOptions): OfferedModel {
  const options = typeof model === 'string' ? { id: idOf(model), from: model } : model
  assertOptions('webgpu', options, MODEL_OPTIONS)
  if (!REPOSITORY_ID.test(options.id))
    throw new TypeError(`A model's id has the form "<namespace>/<name>"; this one is "${options.id}".`)
  const { cacheType } = options
  if (cacheType !== undefined && !isCacheTypeChoice(cacheType))
    throw new TypeError(
      `The cacheType of ${options.id} can be one of ${CACHE_TYPES_LISTED}; this one is "${cacheType}".`,
    )
  for (const [order, temperature] of Object.entries(options.calibration ?? {})) {
    if (typeof temperature !== 'number' || !(temperature > 0 && temperature < Number.POSITIVE_INFINITY))
      throw new TypeError(`The calibration of ${options.id} must have temperatures above 0; '${order}' has none.`)
  }
  assertDraftName(options.id, options.draft)
  const { from = options.id } = options
  return { ...options, location: typeof from === 'string' ? locationOf(from) : { kind: 'files', files: [from].flat() } }
}
