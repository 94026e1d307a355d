import { createHash } from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { hashInBrowser, hashOf } from './hash.js'

const pieces = [new Uint8Array(100_000).fill(7), new Uint8Array(1), new Uint8Array(70_001).map((_, i) => i)]
async function* contents() {
  yield* pieces
}
const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
const wanted = (kind: string) => pieces.reduce((hash, piece) => hash.update(piece), createHash(kind)).digest('hex')

afterEach(() => vi.restoreAllMocks())

test.each([
  ['sha256', bytes],
  ['sha256', undefined],
  ['md5', bytes],
] as const)('a browser hashes as Node does: %s, %s bytes', async (kind, size) => {
  const native = vi.spyOn(crypto.subtle, 'digest')
  expect(await hashInBrowser(kind, contents(), size)).toBe(wanted(kind))
  expect(await hashOf(kind, contents(), size)).toBe(wanted(kind))
  // What it can take at once, its own instructions do.
  expect(native).toHaveBeenCalledTimes(kind === 'sha256' && size !== undefined ? 1 : 0)
})

test('a file in one piece is hashed as it is', async () => {
  async function* whole() {
    yield pieces[0]!
  }
  const found = await hashInBrowser('sha256', whole(), pieces[0]!.length)
  expect(found).toBe(createHash('sha256').update(pieces[0]!).digest('hex'))
})
