import type { NamedBlob } from './blobs.js'
import { FOREIGN_NAMES, type ForeignName } from './store/foreign/index.js'

/** Where a repository lies. */
export type ModelLocation =
  | {
      readonly kind: 'hub'
      readonly repository: string
      /** The one file that the model is in. */
      readonly file?: string
      /** Which of its GGUF files: `Q4_K_M`. */
      readonly quantisation?: string
    }
  /** Of a repository, or of a GGUF file. */
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'folder'; readonly path: string }
  /** Files that a page was given. */
  | { readonly kind: 'files'; readonly files: readonly NamedBlob[] }
  /** In the origin's private file system. */
  | { readonly kind: 'kept'; readonly name: string }
  /** In the store of another program, by the name that it has there. */
  | { readonly kind: 'foreign'; readonly store: ForeignName; readonly name: string }

export const REPOSITORY_ID = /^[\w.-]+\/[\w.-]+$/

const HUB = /^(?:hf:)?([\w.-]+\/[\w.-]+)(?:\/([\w./-]+\.gguf)|:([\w.-]+))?$/

const FOREIGN = new RegExp(`^(${FOREIGN_NAMES.join('|')}):([\\w./:-]+)$`)

/** Reads what a user wrote as a model's place. */
export function locationOf(from: string): ModelLocation {
  if (/^https?:\/\//i.test(from)) return { kind: 'url', url: checkedUrl(from) }
  if (/^file:\/\//i.test(from)) return { kind: 'folder', path: pathOf(from) }
  if (/^kept:[^/\\]+$/.test(from)) return { kind: 'kept', name: from.slice('kept:'.length) }
  const foreign = from.match(FOREIGN)
  if (foreign) return { kind: 'foreign', store: foreign[1] as ForeignName, name: foreign[2]! }
  if (isPath(from)) return { kind: 'folder', path: from }
  const hub = from.match(HUB)
  if (hub) {
    const [, repository, file, quantisation] = hub
    return { kind: 'hub', repository: repository!, ...(file && { file }), ...(quantisation && { quantisation }) }
  }
  throw new TypeError(
    `"${from}" is no model: give a Hugging Face id (owner/name, owner/name:Q4_K_M or owner/name/file.gguf), ollama:name:tag or lmstudio:owner/name, an address, or a folder or GGUF file that begins with "./" or "/".`,
  )
}

/** What resolves an address would take a path that begins with two slashes for another host. */
function checkedUrl(from: string): string {
  if (!URL.canParse(from)) throw new TypeError(`"${from}" is no model's address: write https://HOST/PATH.`)
  const url = new URL(from)
  if (!url.pathname.startsWith('//')) return from
  url.pathname = url.pathname.replace(/^\/+/, '/')
  throw new TypeError(`The model's address "${from}" has a double slash after its host: write "${url.href}".`)
}

/** `file:///C:/models` is `C:/models`. */
function pathOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname).replace(/^\/([A-Za-z]:)/, '$1')
}

function isPath(from: string): boolean {
  return /^(\.{0,2}[/\\]|[A-Za-z]:[/\\]|\.{1,2}$)/.test(from)
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
