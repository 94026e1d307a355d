import fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { diskStore } from './disk.js'
import { type FileStore, USED } from './store.js'

let folder: string
let store: FileStore

beforeEach(async () => {
  folder = await fs.mkdtemp(join(tmpdir(), 'local-v1-disk-'))
  store = diskStore(folder)!
})
afterEach(() => fs.rm(folder, { recursive: true }))

const HOST = 'https://models.test'
const utf8 = new TextEncoder()

async function keep(url: string, text: string): Promise<void> {
  const writer = await store.write(url)
  await writer.append(utf8.encode(text))
  await writer.commit()
}

async function textOf(url: string): Promise<string | undefined> {
  const file = await store.read(url)
  return file && new TextDecoder().decode(await file.slice(0, file.bytes))
}

/** As the first versions did, long ago. */
async function keptEarlier(path: string, text: string): Promise<void> {
  const file = join(folder, path)
  await fs.mkdir(join(file, '..'), { recursive: true })
  await fs.writeFile(file, text)
  await fs.utimes(file, 1000, 1000)
}

const LONG = 'ü'.repeat(300)
/** No two are one address. */
const ADDRESSES = [
  ...['/a_b', '/a%20b', '/a%2Fb', '/a/b_', '/a%25b', '/a%2520b', '/a%b', '/a*b', '/a**b', '/a:b', '/ä', '/ö', '/_'],
  ...['//a_b', '/c//d', '/c/_/d', '/c/%25_/d', '/x', '/x.part', '/x%252Epart', '/y?z', '/y%3Fz', '/y?z=1', '/y%3D'],
  ...['/%2E%2E%2Fup', '/...', `/${LONG}1`, `/${LONG}2`, `/${LONG.slice(1)}1`, `/${'n'.repeat(240)}`],
].map((path) => `${HOST}${path}`)

describe('on a disk', () => {
  it('each address has a file of its own, below the folder', async () => {
    for (const url of ADDRESSES) await keep(url, url)
    await keep('http://models.test:81/a', 'of a port')
    await keep('http://models.test_81/a', 'of a name')
    for (const url of ADDRESSES) expect(await textOf(url)).toBe(url)
    expect(await textOf('http://models.test:81/a')).toBe('of a port')
    expect((await fs.readdir(folder)).sort()).toEqual(['.apart', 'models.test', 'models.test%3A81', 'models.test_81'])
    const names = (await fs.readdir(folder, { recursive: true })).flatMap((path) => path.split('/'))
    expect(names.filter((name) => name.length > 255 || /^\.+$|[^\w.%!=-]/.test(name))).toEqual([])
  })

  it('what is like another address is neither counted nor forgotten with it', async () => {
    await keep(`${HOST}/a_b/one`, 'four')
    await keep(`${HOST}/a%20b/one`, 'sixsix')
    expect([await store.kept(`${HOST}/a_b/`), await store.kept(`${HOST}/a%20b/`)]).toEqual([4, 6])
    await store.forget(`${HOST}/a%20b/`)
    expect([await textOf(`${HOST}/a_b/one`), await textOf(`${HOST}/a%20b/one`)]).toEqual(['four', undefined])
  })

  it('finds what the first versions kept where addresses had one path', async () => {
    await keptEarlier('models.test_81/r_1/file_a', 'kept')
    await keptEarlier(`models.test_81/r_1/${USED}`, JSON.stringify({ base: `${HOST}:81/r:1/`, usedAt: 5 }))
    expect(await textOf(`${HOST}:81/r:1/file%20a`)).toBe('kept')
    expect(await store.kept(`${HOST}:81/r:1/`)).toBe(4)
    // And goes on finding it once more is kept beside it.
    await keep(`${HOST}:81/r:1/file_b`, 'more')
    await keep(`${HOST}:81/r:1/${USED}`, JSON.stringify({ base: `${HOST}:81/r:1/`, usedAt: 7 }))
    expect(await textOf(`${HOST}:81/r:1/file%20a`)).toBe('kept')
    expect(await store.kept(`${HOST}:81/r:1/`)).toBe(8)
    const [one, ...others] = await store.repositories()
    expect([one!.base, one!.usedAt, others]).toEqual([`${HOST}:81/r:1/`, new Date(7), []])
    await store.forget(`${HOST}:81/r:1/`)
    expect(await store.kept(`${HOST}:81/r:1/`)).toBe(0)
    expect(await fs.readdir(folder)).not.toContain('models.test_81')
  })

  it('takes what came since for no other address', async () => {
    await keep(`${HOST}/a_b`, 'plain')
    expect(await textOf(`${HOST}/a%20b`)).toBeUndefined()
    await store.forget(`${HOST}/a%20b`)
    expect(await textOf(`${HOST}/a_b`)).toBe('plain')
    // What is not whole is nobody's file.
    await keptEarlier('models.test/f.part', 'half')
    expect(await textOf(`${HOST}/f.part`)).toBeUndefined()
  })

  it('makes nothing before there is something to keep', async () => {
    const writer = await store.write(`${HOST}/a`)
    await writer.close()
    expect(await fs.readdir(folder)).toEqual([])
  })
})
