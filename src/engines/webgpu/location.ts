import type { ModelOptions, OfferedModel } from './options.js'

/** Where a repository lies. */
export type ModelLocation =
  | { readonly kind: 'hub'; readonly repository: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'folder'; readonly path: string }

const ID = /^[\w.-]+\/[\w.-]+$/

/** Reads what a user wrote in `models`. */
export function offeredModel(model: string | ModelOptions): OfferedModel {
  const options = typeof model === 'string' ? { id: idOf(model), from: model } : model
  if (!ID.test(options.id))
    throw new TypeError(`A model's id has the form "<namespace>/<name>"; this one is "${options.id}".`)
  return { ...options, location: locationOf(options.from ?? options.id) }
}

export function locationOf(from: string): ModelLocation {
  if (/^https?:\/\//i.test(from)) return { kind: 'url', url: from }
  if (/^file:\/\//i.test(from)) return { kind: 'folder', path: pathOf(from) }
  if (isPath(from)) return { kind: 'folder', path: from }
  if (ID.test(from)) return { kind: 'hub', repository: from }
  throw new TypeError(
    `"${from}" is no model: give a Hugging Face id, an address, or a folder that begins with "./" or "/".`,
  )
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

/** `file:///C:/models` is `C:/models`. */
function pathOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname).replace(/^\/([A-Za-z]:)/, '$1')
}

function isPath(from: string): boolean {
  return /^(\.{0,2}[/\\]|[A-Za-z]:[/\\]|\.{1,2}$)/.test(from)
}
