/** Hashes of files, by what the platform has: a processor's own instructions are many times faster than JavaScript. */
import { md5 } from '@noble/hashes/legacy.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { builtin } from '../../platform/index.js'

const KINDS = { sha256, md5 }

export type HashKind = keyof typeof KINDS

/** A browser's own instructions take a whole: as much as that. */
const MOST_AT_ONCE = 64 * 2 ** 20

/** In hexadecimal digits. `bytes`: how many there are, where it is known. */
export async function hashOf(kind: HashKind, contents: AsyncIterable<Uint8Array>, bytes?: number): Promise<string> {
  const native = builtin<typeof import('node:crypto')>('node:crypto')?.createHash(kind)
  if (native) {
    for await (const chunk of contents) native.update(chunk)
    return native.digest('hex')
  }
  return hashInBrowser(kind, contents, bytes)
}

export async function hashInBrowser(
  kind: HashKind,
  contents: AsyncIterable<Uint8Array>,
  bytes?: number,
): Promise<string> {
  const { subtle } = globalThis.crypto ?? {}
  if (kind === 'sha256' && subtle && bytes !== undefined && bytes <= MOST_AT_ONCE) {
    let whole: Uint8Array<ArrayBuffer> | undefined
    let at = 0
    for await (const chunk of contents) {
      // In one piece already, it is taken as it is.
      if (chunk.length === bytes) whole = chunk as Uint8Array<ArrayBuffer>
      else {
        whole ??= new Uint8Array(bytes)
        whole.set(chunk, at)
        at += chunk.length
      }
    }
    whole ??= new Uint8Array(bytes)
    return bytesToHex(new Uint8Array(await subtle.digest('SHA-256', whole)))
  }
  const state = KINDS[kind].create()
  for await (const chunk of contents) state.update(chunk)
  return bytesToHex(state.digest())
}

/** The stronger one that is named says enough. */
export function namedHash(file: { sha256?: string; md5?: string }): { kind: HashKind; wanted: string } | undefined {
  if (file.sha256 !== undefined) return { kind: 'sha256', wanted: file.sha256.toLowerCase() }
  return file.md5 === undefined ? undefined : { kind: 'md5', wanted: file.md5.toLowerCase() }
}
