import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { size } from './arguments.js'
import { removeLeastUsed } from './models.js'

let cache: string
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'local-v1-remove-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(cache, { recursive: true })
})

async function downloaded(name: string, bytes: number, used: number): Promise<void> {
  const folder = join(cache, 'huggingface.co', name, 'resolve/main')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'model.gguf'), new Uint8Array(bytes))
  await utimes(join(folder, 'model.gguf'), used, used)
}

it('models remove --least-used removes what was not used for longest, and says what', async () => {
  await downloaded('a/newest', 3_000_000, 3e8)
  await downloaded('a/oldest', 1_000_000, 1e8)
  await downloaded('a/older', 2_000_000, 2e8)
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  await removeLeastUsed(size('2.5MB'), { cache })
  const lines = stderr.mock.calls.map(([line]) => String(line))
  expect(lines.join('')).toMatch(/a\/oldest is removed: 1\.0 MB .*1973-03-03[\s\S]*a\/older is removed: 2\.0 MB/)
  const folders = await readdir(cache, { recursive: true })
  expect(folders.filter((path) => path.endsWith('.gguf'))).toEqual([expect.stringContaining('newest')])
  await expect(removeLeastUsed(size('4MB'), { cache })).rejects.toThrow('Only 3.0 MB are used')
})

it.each([
  ['2GB', 2e9],
  ['1.5 mb', 1.5e6],
  ['7KB', 7000],
])('a size is read: %s', (text, bytes) => {
  expect(size(text)).toBe(bytes)
})

it.each(['', '0GB', '2', 'GB', '-1MB', '1e3KB'])('"%s" is no size', (text) => {
  expect(() => size(text)).toThrow(/must be a size/)
})
