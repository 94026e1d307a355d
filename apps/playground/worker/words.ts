/** What an error says to a person. What a browser or a language says of itself differs from one to the next, and helps nobody. */
export function wordsOf(error: unknown): string {
  if (error instanceof Error && !isRaw(error)) return undownloaded(error) ?? unaddressed(error.message)
  const name = error instanceof Error && error.name !== '' ? ` (${error.name})` : ''
  return `Something in this page failed${name}, perhaps because this browser does not allow it. Reload the page, or open it in its own tab.`
}

const RAW = [TypeError, RangeError, SyntaxError, ReferenceError, DOMException]

export const isRaw = (error: unknown): boolean => RAW.some((kind) => error instanceof kind)

/** Where a model's files are is told by its name; an address says nothing more. */
const unaddressed = (message: string): string =>
  message.replace(/^The model at [a-z]+:\/\/\S+ cannot be loaded: /, 'This model cannot be loaded: ')

/** What did not come over the network is said without its address, which helps nobody who is offline. */
function undownloaded(error: Error): string | undefined {
  if ((error as { code?: unknown }).code !== 'model_unreachable') return undefined
  const elsewise = 'Models that are on disk already work without a network.'
  if (navigator.onLine === false) return `This device is offline, so the model cannot be downloaded now. ${elsewise}`
  const [, reason = ''] = /cannot be fetched now: (?:[^\s:]+: )?(.*)$/s.exec(error.message) ?? []
  if (reason === '' || /^the network failed/.test(reason)) {
    return `The model cannot be downloaded now: there is no network, or the server that has it does not answer. ${elsewise}`
  }
  return `The model cannot be downloaded now: ${reason}`
}
