/** Where a repository lies. */
export type ModelLocation =
  | { readonly kind: 'hub'; readonly repository: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'folder'; readonly path: string }

export const REPOSITORY_ID = /^[\w.-]+\/[\w.-]+$/

/** Reads what a user wrote as a model's place. */
export function locationOf(from: string): ModelLocation {
  if (/^https?:\/\//i.test(from)) return { kind: 'url', url: from }
  if (/^file:\/\//i.test(from)) return { kind: 'folder', path: pathOf(from) }
  if (isPath(from)) return { kind: 'folder', path: from }
  if (REPOSITORY_ID.test(from)) return { kind: 'hub', repository: from }
  throw new TypeError(
    `"${from}" is no model: give a Hugging Face id, an address, or a folder that begins with "./" or "/".`,
  )
}

/** `file:///C:/models` is `C:/models`. */
function pathOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname).replace(/^\/([A-Za-z]:)/, '$1')
}

function isPath(from: string): boolean {
  return /^(\.{0,2}[/\\]|[A-Za-z]:[/\\]|\.{1,2}$)/.test(from)
}
