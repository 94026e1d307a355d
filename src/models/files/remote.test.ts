import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { joined } from '../../platform/bytes.js'
import { RemoteFiles, type RemoteFilesOptions } from './remote.js'
import { diskStore } from './store/disk.js'
import type { FileStore, FileWriter, StoredFile } from './store/store.js'

const BASE = 'https://models.test/small/'
const HUB = 'https://huggingface.co/me/small/resolve/main/'
const never = new AbortController().signal
const utf8 = new TextEncoder()
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A store in memory, which says what was asked of it. */
class Shelf implements FileStore {
  readonly files = new Map<string, Uint8Array>()
  readonly open = new Set<FileWriter>()
  readonly wanted: (string | undefined)[] = []
  /** Bytes that each file has from a download that broke off. */
  begun = 0
  full: Error | undefined
  fleeting: boolean | undefined
  asksForHashes?: true

  put(url: string, text: string): this {
    this.files.set(url, utf8.encode(text))
    return this
  }
  async read(url: string, hash?: string): Promise<StoredFile | undefined> {
    this.wanted.push(hash)
    const bytes = this.files.get(url)
    return bytes && this.#stored(bytes)
  }
  #stored(bytes: Uint8Array): StoredFile {
    const { fleeting } = this
    const slice = async (from: number, to: number) => bytes.slice(from, to)
    return { bytes: bytes.length, slice, ...(fleeting !== undefined && { fleeting: Promise.resolve(fleeting) }) }
  }
  async write(url: string): Promise<FileWriter> {
    let chunks: Uint8Array[] = [new Uint8Array(this.begun)]
    const { open, full } = this
    const written = () => chunks.reduce((sum, { length }) => sum + length, 0)
    const writer: FileWriter = {
      get written() {
        return written()
      },
      async append(chunk) {
        if (full) throw full
        chunks.push(chunk)
      },
      async *contents() {
        yield* chunks
      },
      async restart() {
        chunks = []
      },
      commit: async () => {
        this.files.set(url, joined(chunks))
        return this.#stored(joined(chunks))
      },
      async close() {
        open.delete(writer)
      },
    }
    open.add(writer)
    return writer
  }
  kept = async () => 0
  repositories = async () => []
  room = async () => 10
  forget = async () => {}
}

/** A server of these texts; of others it has none. An error: nobody answers. */
function server(texts: Record<string, string | Error>, headers: Record<string, string> = {}) {
  const requests: string[] = []
  const fetch: NonNullable<RemoteFilesOptions['fetch']> = async (url, { method = 'GET', headers: sent = {} }) => {
    const { range } = sent as { range?: string }
    requests.push([method, url, ...(range ? [range] : [])].join(' '))
    const text = texts[url.slice(url.lastIndexOf('/') + 1)]
    if (text instanceof Error) throw text
    if (text === undefined) return new Response(null, { status: 404 })
    if (method === 'HEAD') return new Response(null, { headers })
    const bytes = utf8.encode(text)
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? []
    if (from === undefined) return new Response(bytes)
    if (Number(from) >= bytes.length) return new Response(null, { status: 416 })
    const end = Math.min(Number(to || bytes.length) + 1, bytes.length)
    const init = { status: 206, headers: { 'content-range': `bytes ${from}-${end - 1}/${bytes.length}` } }
    return new Response(bytes.subarray(Number(from), end), init)
  }
  return { fetch, requests }
}

function repository(texts: Record<string, string | Error>, store = new Shelf(), options: RemoteFilesOptions = {}) {
  const { fetch, requests } = server(texts)
  return { files: new RemoteFiles(BASE, store, { fetch, ...options }), store, requests }
}

const bytesOf = async (files: RemoteFiles, name: string, from: number, to: number) =>
  new TextDecoder().decode(await files.slice(name, from, to))

describe('a small file of a repository', () => {
  it('is asked for once, and kept', async () => {
    const { files, store, requests } = repository({ 'a.json': 'é' })
    for (let i = 0; i < 2; i++) expect(await files.text('a.json', never)).toBe('é')
    expect(requests).toEqual([`GET ${BASE}a.json`])
    expect([...store.files.keys()]).toEqual([`${BASE}a.json`])
    expect(store.open.size).toBe(0)
    expect([files.place, files.phase, 'file' in files]).toEqual([BASE, 'download', false])
    expect(new RemoteFiles(BASE, store, { file: 'm.gguf' }).file).toBe('m.gguf')
  })

  it('that is not there is not kept as if it were', async () => {
    const { files, store } = repository({})
    expect(await files.text('a.json', never)).toBeUndefined()
    expect([store.files.size, store.open.size]).toEqual([0, 0])
  })

  it('without a network is missed where others are here, and an error where none is', async () => {
    const gone = Object.assign(new Error('ENOSPC'), { code: 'EIO' })
    const store = new Shelf()
    const { files } = repository({ 'a.json': gone, 'b.json': 'b' }, store)
    store.full = gone
    await expect(files.text('b.json', never)).rejects.toBe(gone)
    store.put(`${BASE}c.json`, 'c')
    expect(await files.text('c.json', never)).toBe('c')
    expect(await files.text('b.json', never)).toBeUndefined()
    await expect(files.text('b.json', AbortSignal.abort('left'))).rejects.toBe('left')
    expect(store.open.size).toBe(0)
  })
})

describe('a large file of a repository', () => {
  it('is brought, told of by its bytes, and read where it is kept', async () => {
    const { files, requests } = repository({ 'm.bin': 'abcdef' })
    const reported: number[] = []
    await files.fetch({ name: 'm.bin', bytes: 6 }, (bytes) => reported.push(bytes), never)
    expect(reported.reduce((sum, bytes) => sum + bytes, 0)).toBe(6)
    expect(await bytesOf(files, 'm.bin', 2, 4)).toBe('cd')
    expect(requests).toEqual([`GET ${BASE}m.bin`])
    const again: number[] = []
    await files.fetch({ name: 'm.bin', bytes: 6 }, (bytes) => again.push(bytes), never)
    expect([requests.length, again]).toEqual([1, [6]])
    // One that is not as long as it is to be is another.
    await expect(files.fetch({ name: 'm.bin', bytes: 7 }, () => {}, AbortSignal.timeout(50))).rejects.toThrow()
    expect(requests.length).toBeGreaterThan(1)
  })

  it('that is no longer whole where it is kept is no answer, and one that was let go is none', async () => {
    const { files } = repository({ 'm.bin': 'abcdef' })
    await files.fetch({ name: 'm.bin' }, () => {}, never)
    await expect(files.slice('m.bin', 4, 7)).rejects.toMatchObject({ status: 503, code: 'model_unreachable' })
    await expect(files.slice('m.bin', 4, 7)).rejects.toThrow('m.bin is no longer complete in the cache.')
    expect(await bytesOf(files, 'm.bin', 4, 6)).toBe('ef')
    files.release('m.bin')
    await expect(files.slice('m.bin', 0, 1)).rejects.toThrow()
  })

  it('that is not there is named', async () => {
    const { files } = repository({})
    const missing = files.fetch({ name: 'm.bin' }, () => {}, never)
    await expect(missing).rejects.toMatchObject({ status: 500, code: 'model_files' })
    await expect(files.fetch({ name: 'm.bin' }, () => {}, never)).rejects.toThrow(
      'the server has no m.bin: check the name',
    )
  })

  it('that is shorter than its head says is cut, which is known before it is brought where its size is', async () => {
    const { files, requests } = repository({ 'm.bin': 'abcdef' })
    await files.fetch({ name: 'm.bin', least: 6 }, () => {}, never)
    await expect(files.fetch({ name: 'm.bin', least: 7 }, () => {}, never)).rejects.toThrow(
      'm.bin is incomplete: it has 6 of at least 7 bytes.',
    )
    const before = requests.length
    const fresh = repository({ 'm.bin': 'abcdef' })
    expect(new TextDecoder().decode(await fresh.files.head('m.bin', 1, 3, never))).toBe('bc')
    await expect(fresh.files.fetch({ name: 'm.bin', least: 7 }, () => {}, never)).rejects.toThrow(
      'm.bin is incomplete: the server has 6 of at least 7 bytes.',
    )
    expect([fresh.requests, before]).toEqual([[`GET ${BASE}m.bin bytes=1-2`], 1])
    // That there is nothing behind its end says nothing new.
    expect(await fresh.files.head('m.bin', 6, 8, never)).toHaveLength(0)
    await expect(fresh.files.fetch({ name: 'm.bin', least: 7 }, () => {}, never)).rejects.toThrow('the server has 6')
    await fresh.files.fetch({ name: 'm.bin', least: 6 }, () => {}, never)
    expect(await bytesOf(fresh.files, 'm.bin', 0, 6)).toBe('abcdef')
  })

  it('is another than a shorter one that somebody kept since its server told of it', async () => {
    const { files, store } = repository({ 'm.bin': 'abcdef' })
    await files.head('m.bin', 0, 2, never)
    store.put(`${BASE}m.bin`, 'old')
    await files.fetch({ name: 'm.bin' }, () => {}, never)
    expect(await bytesOf(files, 'm.bin', 0, 6)).toBe('abcdef')
  })

  it('tells its head from where it is kept, if it is', async () => {
    const { files, requests } = repository({}, new Shelf().put(`${BASE}m.bin`, 'abcdef'))
    expect(new TextDecoder().decode(await files.head('m.bin', 1, 4, never))).toBe('bcd')
    expect(requests).toEqual([])
  })

  it('lies where the store says', () => {
    const store = Object.assign(new Shelf(), { pathOf: (url: string) => `/kept/${url.length}` })
    expect(repository({}, store).files.pathOf('a/m.bin')).toBe(`/kept/${`${BASE}a/m.bin`.length}`)
    expect(repository({}).files.pathOf('m.bin')).toBeUndefined()
  })

  it('lies in its repository', async () => {
    const { files, requests } = repository({ passwd: 'x' })
    await expect(files.text('../../etc/passwd', never)).rejects.toThrow('is not inside it')
    await expect(files.fetch({ name: '../passwd' }, () => {}, never)).rejects.toThrow('is not inside it')
    expect(requests).toEqual([])
  })

  it('for which there is no room is refused with what it takes, and other faults are told as they are', async () => {
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC' })
    const store = new Shelf()
    const { files } = repository({ 'm.bin': 'abcdef' }, store)
    store.full = full
    const ask = (file: object) => files.fetch({ name: 'm.bin', ...file }, () => {}, never)
    await expect(ask({ bytes: 6_000_000 })).rejects.toMatchObject({ status: 507, code: 'storage_full' })
    await expect(ask({ bytes: 6_000_000 })).rejects.toThrow('it needs 6 MB')
    await expect(ask({ least: 4_000_000 })).rejects.toThrow('it needs 4 MB')
    await expect(ask({})).rejects.toThrow('it needs 1 MB')
    // What is here of it already needs no room.
    const rest = repository({ 'm.bin': '.'.repeat(3_000_000) }, store)
    store.begun = 2_000_000
    await expect(rest.files.fetch({ name: 'm.bin', bytes: 3_000_000 }, () => {}, never)).rejects.toThrow('needs 1 MB')
    store.begun = 0
    const other = new Error('EIO')
    store.full = other
    await expect(ask({})).rejects.toBe(other)
    expect(store.open.size).toBe(0)
  })

  it('that could not be kept is told, where somebody hears', async () => {
    const warned: string[] = []
    const warn = (message: string) => warned.push(message)
    for (const fleeting of [true, false, undefined]) {
      const store = new Shelf()
      store.fleeting = fleeting
      const { files } = repository({ 'm.bin': 'abcdef' }, store, { warn })
      await files.fetch({ name: 'm.bin' }, () => {}, never)
      await Promise.resolve()
    }
    expect(warned).toEqual([`There was no room to store ${BASE}m.bin: it is downloaded again next time.`])
    const store = new Shelf()
    store.fleeting = true
    await repository({ 'm.bin': 'abcdef' }, store).files.fetch({ name: 'm.bin' }, () => {}, never)
  })
})

describe('a file whose hash its source names', () => {
  const named = (text: string) => ({ 'x-linked-etag': `"${sha256(text)}"`, 'x-linked-size': String(text.length) })
  function hub(content: string, headers: Record<string, string>, store = new Shelf()) {
    const { fetch, requests } = server({ 'm.bin': content }, headers)
    const files = new RemoteFiles(HUB, store, { fetch })
    return {
      files,
      store,
      requests,
      ask: (file: object = {}) => files.fetch({ name: 'm.bin', ...file }, () => {}, never),
    }
  }
  const note = `${HUB}m.bin.sha256`

  it('is held against it, which is noted', async () => {
    const { ask, store, requests } = hub('abcdef', named('abcdef'))
    await ask()
    expect(requests).toEqual([`HEAD ${HUB}m.bin`, `GET ${HUB}m.bin`])
    expect(new TextDecoder().decode(store.files.get(note))).toBe(sha256('abcdef'))
    expect(store.wanted).toContain(sha256('abcdef'))
    const other = hub('ABCDEF', named('abcdef'))
    await expect(other.ask()).rejects.toMatchObject({ code: 'model_files' })
    expect([...other.store.files.keys()]).toEqual([])
  })

  it('is there all the same where the hash finds no room any more', async () => {
    const { ask, store } = hub('abcdef', named('abcdef'))
    const { write } = store
    store.write = async (url) => {
      if (url === note) store.full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      return write.call(store, url)
    }
    await ask()
    expect([...store.files.keys()]).toEqual([`${HUB}m.bin`])
    expect(store.open.size).toBe(0)
  })

  it('is not asked for where the repository names one, or the file is here', async () => {
    const own = hub('abcdef', named('xxxxxx'))
    await own.ask({ sha256: sha256('abcdef') })
    const old = hub('abcdef', named('xxxxxx'))
    await old.ask({ md5: createHash('md5').update('abcdef').digest('hex') })
    const here = hub('abcdef', named('xxxxxx'), new Shelf().put(`${HUB}m.bin`, 'abcdef'))
    await here.ask()
    for (const { requests, store } of [own, old, here]) {
      expect(requests.filter((one) => one.startsWith('HEAD'))).toEqual([])
      expect(store.files.has(note)).toBe(false)
    }
  })

  it('is asked for beside an old kind of hash by a store that finds files by it', async () => {
    const store = Object.assign(new Shelf(), { asksForHashes: true as const })
    const { ask, requests } = hub('abcdef', named('abcdef'), store)
    await ask({ md5: createHash('md5').update('abcdef').digest('hex') })
    expect(requests[0]).toBe(`HEAD ${HUB}m.bin`)
    expect(store.files.has(note)).toBe(true)
  })

  it('is cut where it is to be longer than that', async () => {
    const { ask, requests } = hub('abcdef', named('abcdef'))
    await expect(ask({ least: 7 })).rejects.toThrow('the server has 6 of at least 7 bytes')
    expect(requests).toHaveLength(1)
  })
})

it('nothing but the platform’s own way is needed', async () => {
  const { fetch } = globalThis
  const requests: string[] = []
  globalThis.fetch = async (url) => {
    requests.push(String(url))
    return new Response('x')
  }
  try {
    expect(await new RemoteFiles(BASE, new Shelf()).text('a.json', never)).toBe('x')
    expect(requests).toEqual([`${BASE}a.json`])
  } finally {
    globalThis.fetch = fetch
  }
})

it('a file that two want at once is downloaded once, and for who stays if the other leaves', async () => {
  const shelf = new Shelf()
  const [left, urls] = [new AbortController(), [] as string[]]
  const fetch = async (url: string, { signal }: { readonly signal?: AbortSignal | null } = {}) => {
    urls.push(url)
    if (urls.length > 1) return new Response('{}')
    return new Promise<Response>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const open = () => new RemoteFiles(BASE, shelf, { fetch: fetch as never })
  const first = open().text('config.json', left.signal)
  const others = [open().text('config.json', never), open().text('config.json', never)]
  while (urls.length === 0) await new Promise((resolve) => setTimeout(resolve))
  left.abort(new Error('left'))
  await expect(first).rejects.toThrow('left')
  expect(await Promise.all(others)).toEqual(['{}', '{}'])
  expect(urls).toHaveLength(2)
})

it('files that another process removes are told of by name, while they come and while they are read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-removed-'))
  const remove = () => rmSync(folder, { recursive: true })
  const files = new RemoteFiles(BASE, diskStore(folder)!, { fetch: async () => new Response('x') })
  const removed = {
    ...{ status: 503, code: 'model_unreachable' },
    message: expect.stringContaining('w.bin was removed from the cache meanwhile'),
  }
  const fetched = (onBytes: () => void) => files.fetch({ name: 'w.bin', bytes: 1 }, onBytes, never)
  await expect(fetched(remove)).rejects.toMatchObject(removed)
  await fetched(() => {})
  remove()
  await expect(files.slice('w.bin', 0, 1)).rejects.toMatchObject(removed)
})
