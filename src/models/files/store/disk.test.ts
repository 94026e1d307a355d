import { spawnSync } from 'node:child_process'
import fs from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { joined } from '../../../platform/bytes.js'
import { defaultFolder, diskStore } from './disk.js'
import { type FileStore, type FileWriter, USED } from './store.js'

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
  ...['/b%b', '/q/?z=1', '/q/?z=2'],
  ...['/%2E%2E%2Fup', '/...', `/${LONG}1`, `/${LONG}2`, `/${LONG.slice(1)}1`, `/${'n'.repeat(240)}`],
].map((path) => `${HOST}${path}`)

describe('of several who write one file', () => {
  it('each writes the whole of it by itself, and it is whole for all', async () => {
    const url = `${HOST}/r/model.bin`
    const first = await store.write(url)
    await first.append(utf8.encode('who'))
    const second = await diskStore(folder)!.write(url)
    expect(second.written).toBe(0)
    await second.append(utf8.encode('whole'))
    await second.commit()
    await first.append(utf8.encode('le'))
    expect(await textOf(url)).toBe('whole')
    await first.commit()
    expect(await textOf(url)).toBe('whole')
    await Promise.all([first.close(), second.close()])
    expect(await fs.readdir(join(folder, 'models.test/r'))).toEqual(['model.bin'])
  })

  it('goes on with what one left whose process was killed, and is the only one that does', async () => {
    const url = `${HOST}/model.bin`
    const first = await store.write(url)
    await first.append(utf8.encode('who'))
    const [name] = (await fs.readdir(join(folder, 'models.test'))) as [string]
    const { pid } = spawnSync(process.execPath, ['-e', ''])
    const killed = join(folder, 'models.test', name.replace(`${process.pid}`, `${pid}`))
    await fs.rename(join(folder, 'models.test', name), killed)
    await first.close()
    const [next, other] = [await store.write(url), await store.write(url)]
    expect([next.written, other.written]).toEqual([3, 0])
    await next.append(utf8.encode('le'))
    await next.commit()
    expect(await textOf(url)).toBe('whole')
  })
})

describe('of a process in another container that has the folder too, whose number says nothing here', () => {
  it.each([
    ['what it may still be writing is its own, and both are whole', 0, 0],
    ['what it has left alone for long is gone on with', 3600, 3],
  ])('%s', async (_, seconds, written) => {
    const url = `${HOST}/model.bin`
    const first = await store.write(url)
    await first.append(utf8.encode('who'))
    const [name] = (await fs.readdir(join(folder, 'models.test'))) as [string]
    const { pid } = spawnSync(process.execPath, ['-e', ''])
    const [, , random] = name.slice('model.bin.'.length).split('-')
    const theirs = join(folder, 'models.test', `model.bin.${pid}-e15e-${random}`)
    await fs.rename(join(folder, 'models.test', name), theirs)
    const time = Date.now() / 1000 - seconds
    await fs.utimes(theirs, time, time)
    const second = await store.write(url)
    expect(second.written).toBe(written)
    await second.append(utf8.encode('whole'.slice(written)))
    await second.commit()
    expect(await textOf(url)).toBe('whole')
    expect(await fs.readdir(join(folder, 'models.test'))).toEqual(
      ['model.bin', `model.bin.${pid}-e15e-${random}`].slice(0, written === 0 ? 2 : 1),
    )
    await first.close()
  })

  it('a file is not left alone while its server says nothing', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const writer = await store.write(`${HOST}/model.bin`)
      await writer.append(utf8.encode('who'))
      const [name] = (await fs.readdir(join(folder, 'models.test'))) as [string]
      const path = join(folder, 'models.test', name)
      await fs.utimes(path, 1000, 1000)
      vi.advanceTimersByTime(60_000)
      await expect.poll(async () => (await fs.stat(path)).mtimeMs).toBeGreaterThan(Date.now() - 60_000)
      await writer.close()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('of a process that was killed and had the number of this one, as in a container that begins again', () => {
  it.each([
    ['what is old is gone on with', 3600, 3],
    ['what may still be written is left alone', 0, 0],
  ])('%s', async (_, seconds, written) => {
    const url = `${HOST}/model.bin`
    const first = await store.write(url)
    await first.append(utf8.encode('who'))
    const [name] = (await fs.readdir(join(folder, 'models.test'))) as [string]
    const time = Date.now() / 1000 - seconds
    await fs.utimes(join(folder, 'models.test', name), time, time)
    expect((await store.write(url)).written).toBe(written)
  })
})

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

  it.each([
    ['https://models.test/r/model-1.0_q4.bin', 'models.test/r/model-1.0_q4.bin'],
    ['http://models.test:81/', 'models.test%3A81'],
    ['https://models.test/r/?a=b', 'models.test/r/%_%=%3Fa%3Db'],
    ['https://models.test//a%2Fb/%0A%C3%BC', 'models.test/%_/a%2Fb/%0A%C3%BC'],
    ['https://models.test/.../a%b', 'models.test/%2E%2E%2E/%!a%25b'],
    ['https://models.test/a../..b/😀', 'models.test/a../..b/%F0%9F%98%80'],
    ['https://models.test/x.part', 'models.test/x%2Epart'],
    [`https://models.test/${'n'.repeat(201)}`, `models.test/${'n'.repeat(200)}%/n`],
  ])('%s lies where every version looks for it', (url, path) => {
    expect(store.pathOf!(url)).toBe(`${folder}/${path}`)
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

  it('finds by any such address what had its path, and nothing by those that had another', async () => {
    for (const path of ['two_words', 'not_decoded', '_/dots', '_x', 'x_'])
      await keptEarlier(`models.test/${path}`, path)
    expect(await textOf(`${HOST}/two%20%20words`)).toBe('two_words')
    expect(await textOf(`${HOST}/not%decoded`)).toBe('not_decoded')
    expect(await textOf(`${HOST}/.../dots`)).toBe('_/dots')
    for (const path of ['/..x', '/x..']) expect(await textOf(`${HOST}${path}`)).toBeUndefined()
  })

  it('counts once what has kept its place, and knows the latest use of what has not', async () => {
    await keptEarlier('models.test/r/one', 'four')
    await keptEarlier('models.test/r_1/sub/two', 'sixsix')
    await keptEarlier(`models.test/r_1/${USED}`, JSON.stringify({ base: `${HOST}/r:1/`, usedAt: 9 }))
    await keep(`${HOST}/r:1/sub/three`, 'eight888')
    await keep(`${HOST}/r:1/${USED}`, JSON.stringify({ base: `${HOST}/r:1/`, usedAt: 7 }))
    expect([await store.kept(`${HOST}/r/`), await store.kept(`${HOST}/r:1/`)]).toEqual([4, 14])
    expect(await store.repositories()).toEqual([{ base: `${HOST}/r:1/`, bytes: 14, usedAt: new Date(9) }])
    await store.forget(`${HOST}/r:1/`)
    expect(await store.repositories()).toEqual([])
    expect(await fs.readdir(join(folder, 'models.test'))).toEqual(['r'])
  })

  it('forgets all that there was, and leaves the folder', async () => {
    await keptEarlier('models.test/r_1/one', 'four')
    await store.forget(`${HOST}/r:1/`)
    expect(await fs.readdir(folder)).toEqual([])
  })

  it('knows since when, however often it begins', async () => {
    await keep(`${HOST}/one`, 'first')
    await fs.utimes(join(folder, '.apart'), 1000, 1000)
    await keep(`${HOST}/two`, 'second')
    expect((await fs.stat(join(folder, '.apart'))).mtimeMs).toBe(1_000_000)
  })

  it('takes what came since for no other address', async () => {
    await keep(`${HOST}/a_b`, 'plain')
    await keep(`${HOST}/c_d/sub/e`, 'inside')
    // At the same moment, too.
    const { mtime } = await fs.stat(join(folder, '.apart'))
    for (const path of ['a_b', 'c_d/sub/e']) await fs.utimes(join(folder, 'models.test', path), mtime, mtime)
    await fs.utimes(join(folder, '.apart'), mtime, mtime)
    expect(await textOf(`${HOST}/a%20b`)).toBeUndefined()
    expect(await store.kept(`${HOST}/c%20d/`)).toBe(0)
    for (const path of ['a%20b', 'c%20d/']) await store.forget(`${HOST}/${path}`)
    expect([await textOf(`${HOST}/a_b`), await textOf(`${HOST}/c_d/sub/e`)]).toEqual(['plain', 'inside'])
    // What is not whole is nobody's file.
    await keptEarlier('models.test/f.part', 'half')
    expect(await textOf(`${HOST}/f.part`)).toBeUndefined()
  })

  it('makes nothing before there is something to keep', async () => {
    const writer = await store.write(`${HOST}/a`)
    await writer.close()
    expect(await fs.readdir(folder)).toEqual([])
    // Nor takes away what it has not made.
    await fs.mkdir(join(folder, 'models.test'))
    await (await store.write(`${HOST}/a`)).close()
    expect(await fs.readdir(folder)).toEqual(['models.test'])
  })
})

describe('a file that is being written', () => {
  const URL = `${HOST}/r/model.bin`
  const begun = async (...texts: string[]) => {
    const writer = await store.write(URL)
    for (const text of texts) await writer.append(utf8.encode(text))
    return writer
  }
  const held = async (writer: FileWriter) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of writer.contents()) chunks.push(chunk)
    return { bytes: joined(chunks), lengths: chunks.map(({ length }) => length) }
  }
  const text = async (writer: FileWriter) => new TextDecoder().decode((await held(writer)).bytes)

  it('goes on where an earlier one broke off, and is there once it is whole', async () => {
    const first = await begun('one', 'two')
    expect([first.written, await text(first)]).toEqual([6, 'onetwo'])
    await first.close()
    expect(await textOf(URL)).toBeUndefined()
    const second = await begun()
    expect([second.written, await text(second)]).toEqual([6, 'onetwo'])
    await second.append(utf8.encode('three'))
    const stored = await second.commit()
    expect([stored.bytes, new TextDecoder().decode(await stored.slice(3, 8))]).toEqual([11, 'twoth'])
    await second.close()
    expect(await textOf(URL)).toBe('onetwothree')
    expect(await fs.readdir(join(folder, 'models.test/r'))).toEqual(['model.bin'])
    expect(await fs.readFile(store.pathOf!(URL), 'utf8')).toBe('onetwothree')
    // Another takes its place once that is whole.
    const third = await begun('new')
    expect([third.written, await textOf(URL)]).toEqual([3, 'onetwothree'])
    await third.commit()
    expect(await textOf(URL)).toBe('new')
  })

  it('is told piece by piece, however large it is', async () => {
    const writer = await store.write(URL)
    expect(await held(writer)).toEqual({ bytes: new Uint8Array(), lengths: [] })
    const bytes = Uint8Array.from({ length: 2_500_000 }, (_, i) => i % 251)
    await writer.append(bytes)
    const content = await held(writer)
    expect(Buffer.from(content.bytes).equals(bytes)).toBe(true)
    expect(content.lengths).toEqual([2 ** 20, 2 ** 20, 2_500_000 - 2 ** 21])
    await writer.close()
  })

  it('begins anew where what is held is of no use', async () => {
    const writer = await begun('old')
    await writer.restart()
    expect([writer.written, await text(writer)]).toEqual([0, ''])
    await writer.append(utf8.encode('new one'))
    await writer.commit()
    expect(await textOf(URL)).toBe('new one')
    const untouched = await store.write(`${HOST}/other`)
    await untouched.restart()
    await untouched.close()
    expect(await fs.readdir(join(folder, 'models.test'))).toEqual(['r'])
  })

  it('may be empty, and is one all the same', async () => {
    await (await store.write(URL)).commit()
    expect(await textOf(URL)).toBe('')
  })

  it('leaves nothing behind that holds nothing, and folders only where there is more in them', async () => {
    const writer = await begun('x')
    await writer.restart()
    await writer.close()
    expect(await fs.readdir(folder)).toEqual(['.apart'])
    await keep(`${HOST}/kept`, 'x')
    const other = await begun('x')
    await other.restart()
    await other.close()
    expect(await fs.readdir(join(folder, 'models.test'))).toEqual(['kept'])
    const some = await begun('x')
    await some.close()
    expect(await fs.readdir(join(folder, 'models.test/r'))).toEqual(['model.bin.part'])
  })

  it('is open no longer than somebody writes it', async () => {
    const opened = vi.spyOn(fs, 'open')
    await (await begun('x')).close()
    await (await begun('y')).commit()
    const handles = await Promise.all(opened.mock.results.map(({ value }) => value as ReturnType<typeof fs.open>))
    vi.restoreAllMocks()
    expect(handles.map(({ fd }) => fd)).toEqual([-1, -1])
  })

  it('may be forgotten meanwhile', async () => {
    const writer = await begun('x')
    await store.forget(`${HOST}/r/`)
    await writer.restart()
    await writer.close()
    expect(await fs.readdir(join(folder, 'models.test'))).toEqual([])
  })

  it('is no folder of that name', async () => {
    await keep(`${HOST}/r/inside`, 'x')
    expect(await store.read(`${HOST}/r`)).toBeUndefined()
  })
})

describe('what is kept', () => {
  const HUB = 'https://huggingface.co/me/small/resolve/main/'
  const note = (base: string, usedAt: number | string) => keep(`${base}${USED}`, JSON.stringify({ base, usedAt }))

  it('is counted without what is not whole, and without notes', async () => {
    await keep(`${HOST}/r/a`, '1234')
    await keep(`${HOST}/r/sub/b`, '12')
    await note(`${HOST}/r/`, 1000)
    const begun = await store.write(`${HOST}/r/sub/c`)
    await begun.append(utf8.encode('123'))
    await begun.close()
    expect([await store.kept(`${HOST}/r/`), await store.kept(`${HOST}/none/`)]).toEqual([6, 0])
    // All of it takes room.
    expect(await store.repositories()).toEqual([{ base: `${HOST}/r/`, bytes: 9, usedAt: new Date(1000) }])
    await store.forget(`${HOST}/r/`)
    expect(await store.repositories()).toEqual([])
    expect(await fs.readdir(join(folder, 'models.test'))).toEqual([])
  })

  it('of the hub is known without a note, by its newest file, and once with one', async () => {
    await keep(`${HUB}a.bin`, '1234')
    await keep(`${HUB}sub/b.bin`, '12')
    await keep(`${HOST}/r/a`, 'not noted')
    const old = join(folder, 'huggingface.co/me/small/resolve/main/a.bin')
    const newer = join(folder, 'huggingface.co/me/small/resolve/main/sub/b.bin')
    await fs.utimes(old, 1000, 1000)
    await fs.utimes(newer, 2000, 2000)
    expect(await store.repositories()).toEqual([{ base: HUB, bytes: 6, usedAt: new Date(2_000_000) }])
    await note(HUB, '2026-01-02T03:04:05.000Z')
    expect(await store.repositories()).toEqual([{ base: HUB, bytes: 6, usedAt: new Date('2026-01-02T03:04:05.000Z') }])
  })

  it('of the hub is known while another process ends a download, or deletes', async () => {
    await keep(`${HUB}a.bin`, '1234')
    await keep(`${HUB}b.bin`, '12')
    const { stat } = fs
    vi.spyOn(fs, 'stat').mockImplementation((async (path: string) => {
      if (path.endsWith('b.bin')) await fs.rm(path, { force: true })
      return stat(path)
    }) as never)
    const [found] = await store.repositories()
    vi.restoreAllMocks()
    expect(found).toMatchObject({ base: HUB, bytes: 4 })
  })

  it('goes where another process deletes what it has from before, too', async () => {
    for (const name of ['file_a', 'file_b']) await keptEarlier(`models.test/r_1/${name}`, 'kept')
    await keep(`${HOST}/r:1/c`, 'begins')
    const { stat } = fs
    vi.spyOn(fs, 'stat').mockImplementation((async (path: string) => {
      if (path.endsWith('file_a')) await fs.rm(path, { force: true })
      return stat(path)
    }) as never)
    await store.forget(`${HOST}/r:1/`)
    vi.restoreAllMocks()
    expect(await fs.readdir(join(folder, 'models.test'))).toEqual([])
  })

  it('of the hub is known where paths are as Windows has them', async () => {
    const parentPath = 'C:\\kept\\huggingface.co\\me\\small\\resolve\\main'
    vi.spyOn(fs, 'readdir').mockResolvedValue([{ isFile: () => true, name: 'a.bin', parentPath }] as never)
    vi.spyOn(fs, 'stat').mockResolvedValue({ size: 4, mtimeMs: 5 } as never)
    const repositories = await store.repositories()
    vi.restoreAllMocks()
    expect(repositories).toEqual([{ base: HUB, bytes: 4, usedAt: new Date(5) }])
  })

  it('is not what a note says that says nothing', async () => {
    await keep(`${HOST}/r/${USED}`, 'no JSON')
    await keep(`${HOST}/s/${USED}`, '{"usedAt":1}')
    await keep(`${HOST}/t/${USED}`, 'null')
    expect(await store.repositories()).toEqual([])
  })

  it('is nothing where there is no folder yet, and there is as much room as above it', async () => {
    const other = diskStore(join(folder, 'not', 'there'))!
    expect([await other.repositories(), await other.kept(`${HOST}/`), await other.read(`${HOST}/a`)]).toEqual([
      ...[[], 0, undefined],
    ])
    await other.forget(`${HOST}/`)
    const { bavail, bsize } = await fs.statfs(folder)
    // Others write to the same disk.
    expect(Math.abs((await other.room())! / (bavail * bsize) - 1)).toBeLessThan(0.5)
  })

  it.each([
    ['/a/b/c', ['/a/b/c', '/a/b']],
    ['/a/b', ['/a/b', '/a', '/']],
    ['a/b', ['a/b', 'a', '.']],
  ])('has as much room as the nearest folder above %s that there is', async (path, places) => {
    const statfs = vi.spyOn(fs, 'statfs')
    for (const _ of places.slice(1)) statfs.mockRejectedValueOnce(new Error('ENOENT'))
    statfs.mockResolvedValueOnce({ bavail: 3, bsize: 7 } as never).mockRejectedValue(new Error('ENOSYS'))
    expect([await diskStore(path)!.room(), statfs.mock.calls]).toEqual([21, places.map((place) => [place])])
    expect(await diskStore(path)!.room()).toBeUndefined()
    vi.restoreAllMocks()
  })
})

describe('where models are kept, if nobody says', () => {
  const { platform, env: real } = process
  afterEach(() => {
    process.env = real
    Object.defineProperty(process, 'platform', { value: platform })
    vi.restoreAllMocks()
  })

  it.each([
    ['linux', {}, `${homedir()}/.cache/local-v1`],
    ['linux', { XDG_CACHE_HOME: '/caches' }, '/caches/local-v1'],
    ['linux', { LOCALAPPDATA: '/data' }, `${homedir()}/.cache/local-v1`],
    ['darwin', {}, `${homedir()}/Library/Caches/local-v1`],
    ['win32', { LOCALAPPDATA: 'C:\\data' }, 'C:\\data/local-v1'],
    ['win32', {}, `${homedir()}/.cache/local-v1`],
  ])('is as each system has it: %s %j', (name, env, expected) => {
    process.env = { ...env }
    Object.defineProperty(process, 'platform', { value: name })
    expect(defaultFolder()).toBe(expected)
  })

  it('is nowhere in a browser', () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    expect([defaultFolder(), diskStore('/x')]).toEqual([undefined, undefined])
  })
})
