import { V1Error } from '../../contract/index.js'

/** Encodings of bodies beside none at all, as the platform's own inflating calls them. */
const FORMATS: ReadonlyMap<string, CompressionFormat> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
])

export const ENCODINGS: readonly string[] = ['identity', ...FORMATS.keys()]

/** Whether bodies in this encoding can be read here: every platform but the oldest inflates by itself. */
export function isReadable(encoding: string): boolean {
  return encoding === 'identity' || (FORMATS.has(encoding) && typeof DecompressionStream === 'function')
}

/** The pieces of a body as it was before it was packed; each is inflated only when the one before it was taken. */
export async function* inflated(bytes: Uint8Array, encoding: string): AsyncGenerator<Uint8Array> {
  const format = FORMATS.get(encoding)
  if (format === undefined) {
    yield bytes
    return
  }
  const packed = new Blob([bytes as Uint8Array<ArrayBuffer>])
  const reader = packed.stream().pipeThrough(new DecompressionStream(format)).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        const message = `The body of your request is not what its Content-Encoding '${encoding}' says.`
        throw new V1Error(400, message, { code: 'invalid_encoding', cause })
      })
      if (done) return
      yield value
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}
