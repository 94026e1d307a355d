import { locationOf, REPOSITORY_ID } from '../../repository/location.js'
import type { ModelOptions, OfferedModel } from './options.js'

/** Reads what a user wrote in `models`. */
export function offeredModel(model: string | ModelOptions): OfferedModel {
  const options = typeof model === 'string' ? { id: idOf(model), from: model } : model
  if (!REPOSITORY_ID.test(options.id))
    throw new TypeError(`A model's id has the form "<namespace>/<name>"; this one is "${options.id}".`)
  if (options.cacheType !== undefined && options.cacheType !== 'q8_0')
    throw new TypeError(`The cacheType of ${options.id} can be 'q8_0'; this one is "${options.cacheType as string}".`)
  for (const [order, temperature] of Object.entries(options.calibration ?? {})) {
    if (typeof temperature !== 'number' || !(temperature > 0 && temperature < Number.POSITIVE_INFINITY))
      throw new TypeError(`The calibration of ${options.id} must have temperatures above 0; '${order}' has none.`)
  }
  const { from = options.id } = options
  return { ...options, location: typeof from === 'string' ? locationOf(from) : { kind: 'files', files: [from].flat() } }
}

/** An id for what was given without one: the last two parts of an address, `local/` and the name of a folder. */
export function idOf(from: string): string {
  const place = locationOf(from)
  const { kind } = place
  if (kind === 'hub') {
    const { repository, file, quantisation } = place
    const owner = repository.split('/')[0]
    if (file !== undefined)
      return `${owner}/${file
        .split('/')
        .at(-1)!
        .replace(/\.gguf$/, '')}`
    return quantisation === undefined ? repository : `${repository}-${quantisation}`
  }
  if (kind === 'foreign') {
    const name = place.name
      .split('/')
      .at(-1)!
      .replace(/\.gguf$/, '')
    return `${place.store}/${name.replaceAll(':', '-')}`
  }
  if (kind === 'kept') return `local/${place.name.replace(/\.gguf$/, '').replace(/[^\w.-]+/g, '-')}`
  const parts = from
    .replace(/[?#].*$/, '')
    .split(/[/\\]/)
    .filter((part) => /\w/.test(part) && !/^(https?:|file:|resolve|main)$/i.test(part))
    .map((part) => part.replace(/[^\w.-]+/g, '-'))
  const name = (parts.at(-1) ?? 'model').replace(/\.gguf$/, '')
  return kind === 'folder' ? `local/${name}` : `${parts.at(-2) ?? 'web'}/${name}`
}
