/** Places in JSON documents: the pointers of RFC 6901, and references that have one behind their `#`. */

/** Names and numbers, one within the other. */
export const jsonPointer = (path: readonly (string | number)[]): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** A step of a pointer, as it is called. */
export const pointerStep = (name: string): string => name.replaceAll('~1', '/').replaceAll('~0', '~')

/** A part of a URL, as it stands where it cannot be decoded. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Where a reference leads within its own document; undefined: to a name, to nothing or elsewhere. */
export function referredTo(document: unknown, reference: string): unknown {
  const [name, ...steps] = decodedPart(reference.slice(1)).split('/')
  if (!reference.startsWith('#') || name !== '') return undefined
  return steps.map(pointerStep).reduce(partOf, document)
}

function partOf(whole: unknown, step: string): unknown {
  if (typeof whole !== 'object' || whole === null || !Object.hasOwn(whole, step)) return undefined
  return (whole as Record<string, unknown>)[step]
}
