import { locationOf, REPOSITORY_ID } from '../../repository/location.js'
import type { ModelOptions, OfferedModel } from './options.js'

/** Reads what a user wrote in `models`. */
export function offeredModel(model: string | ModelOptions): OfferedModel {
  const options = typeof model === 'string' ? { id: idOf(model), from: model } : model
  if (!REPOSITORY_ID.test(options.id))
    throw new TypeError(`A model's id has the form "<namespace>/<name>"; this one is "${options.id}".`)
  return { ...options, location: locationOf(options.from ?? options.id) }
}

/** An id for what was given without one: the last two parts of an address, `local/` and the name of a folder. */
function idOf(from: string): string {
  const { kind } = locationOf(from)
  if (kind === 'hub') return from
  const parts = from
    .replace(/[?#].*$/, '')
    .split(/[/\\]/)
    .filter((part) => /\w/.test(part) && !/^(https?:|file:|resolve|main)$/i.test(part))
    .map((part) => part.replace(/[^\w.-]+/g, '-'))
  const name = parts.at(-1) ?? 'model'
  return kind === 'folder' ? `local/${name}` : `${parts.at(-2) ?? 'web'}/${name}`
}
