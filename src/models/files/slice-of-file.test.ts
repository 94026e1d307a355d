import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sliceOfFile } from './slice-of-file.js'

let folder: string
let path: string
beforeAll(async () => {
  folder = await fs.mkdtemp(join(tmpdir(), 'local-v1-slice-'))
  path = join(folder, 'file')
  await fs.writeFile(
    path,
    Uint8Array.from({ length: 100 }, (_, i) => i),
  )
})
afterAll(() => fs.rm(folder, { recursive: true }))

function watched() {
  const handles: fs.FileHandle[] = []
  const open: typeof fs.open = async (...args) => {
    const handle = await fs.open(...args)
    handles.push(handle)
    return handle
  }
  return { handles, fs: { ...fs, open } }
}

it('reads beside each other use one handle, which none holds afterwards', async () => {
  const { handles, fs: files } = watched()
  const slices = await Promise.all([0, 40, 90].map((from) => sliceOfFile(files, path, from, from + 20)))
  expect(slices.map((slice) => [slice[0], slice.length])).toEqual([
    [0, 20],
    [40, 20],
    [90, 10],
  ])
  expect(handles.map(({ fd }) => fd)).toEqual([-1])
  // What was put in its place is another file.
  const other = join(folder, 'other')
  await fs.writeFile(other, Uint8Array.of(7))
  await fs.rename(other, path)
  expect([...(await sliceOfFile(files, path, 0, 20))]).toEqual([7])
  expect(handles.map(({ fd }) => fd)).toEqual([-1, -1])
})

it('a file that was missing is found once it is there', async () => {
  const late = join(folder, 'late')
  const reads = [sliceOfFile(fs, late, 0, 4), sliceOfFile(fs, late, 4, 8)]
  for (const read of await Promise.allSettled(reads)) expect(read).toMatchObject({ reason: { code: 'ENOENT' } })
  await fs.writeFile(late, 'here')
  expect(new TextDecoder().decode(await sliceOfFile(fs, late, 0, 4))).toBe('here')
})

it('where a runtime reads into no shared memory, what was read lies elsewhere', async () => {
  const path = join(folder, 'third')
  await fs.writeFile(
    path,
    Uint8Array.from({ length: 100 }, (_, i) => i),
  )
  const into = new Uint8Array(new SharedArrayBuffer(20))
  expect((await sliceOfFile(fs, path, 40, 60, into)).buffer).toBe(into.buffer)
  const open = async (name: string) => {
    const handle = await fs.open(name)
    const read = async (bytes: Uint8Array, ...rest: [number, number, number]) => {
      if (bytes.buffer instanceof SharedArrayBuffer) throw new TypeError('shared')
      return handle.read(bytes, ...rest)
    }
    return { read, close: () => handle.close() }
  }
  const read = await sliceOfFile({ ...fs, open } as never, path, 40, 60, into)
  expect([...read]).toEqual(Array.from({ length: 20 }, (_, i) => 40 + i))
})
