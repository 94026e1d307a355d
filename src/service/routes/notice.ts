const MAX_NAMES = 20
const MAX_LENGTH = 80

/** What the answer has to say about the request: fields that were ignored, demands that nothing enforces. */
export function noticeHeaders(
  ignored: readonly string[],
  notEnforced: readonly string[],
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  if (ignored.length > 0) headers['x-ignored-fields'] = listOf(ignored)
  if (notEnforced.length > 0) headers['x-not-enforced'] = listOf(notEnforced)
  return headers
}

/** Names come from the request: only what a header may hold is repeated. */
function listOf(names: readonly string[]): string {
  const shown = names
    .slice(0, MAX_NAMES)
    .map((name) => name.slice(0, MAX_LENGTH).replace(/[^\x21-\x2b\x2d-\x7e]/g, '?'))
  return shown.join(', ') + (names.length > MAX_NAMES ? ', ...' : '')
}
