/** What an error says to a person. What a browser or a language says of itself differs from one to the next, and helps nobody. */
export function wordsOf(error: unknown): string {
  if (error instanceof Error && !isRaw(error)) return error.message
  const name = error instanceof Error && error.name !== '' ? ` (${error.name})` : ''
  return `This browser does not allow something that this page needs${name}. Reload the page, or open it in its own tab.`
}

const RAW = [TypeError, RangeError, SyntaxError, ReferenceError, DOMException]

export const isRaw = (error: unknown): boolean => RAW.some((kind) => error instanceof kind)
