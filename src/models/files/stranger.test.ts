import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCpuDevice } from '../../device/cpu/index.js'
import { tinyRepository, writeRepository } from '../../engines/webgpu/tiny-repository.test-helper.js'
import { planModel } from '../plan-model.js'
import { Reader } from './formats/gguf/reader.js'
import { openRepository } from './open.js'
import { carefully, isPrivate } from './redirects.js'
import { within } from './within.js'

const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
const { files, source } = tinyRepository()

/** The same repository, one of whose shards is called otherwise. */
function renamed(dataPath: string): Map<string, Uint8Array> {
  const manifest = JSON.parse(new TextDecoder().decode(files.get('tensor-cache.json')!))
  manifest.records[0].dataPath = dataPath
  return new Map(files).set('tensor-cache.json', new TextEncoder().encode(JSON.stringify(manifest)))
}

describe('a repository that lies', () => {
  const paths = [
    '../../etc/passwd',
    '/etc/passwd',
    'https://other.example/x.bin',
    '%2e%2e/x.bin',
    'a\\..\\..\\x',
    '//x/y',
    'a/./b',
  ]

  it.each(paths)('names no file outside of itself, at an address or in a folder: %s', async (path) => {
    const requests: string[] = []
    const fetch = async (url: string) => {
      requests.push(url)
      const bytes = renamed(path).get(url.replace('https://models.example/org/model/', ''))
      return bytes ? new Response(new Uint8Array(bytes)) : new Response(null, { status: 404 })
    }
    const place = { kind: 'url', url: 'https://models.example/org/model/' } as const
    await expect(openRepository(place, { ...options, fetch })).rejects.toThrow(/which is not inside it/)
    for (const url of requests) expect(url).toMatch(/^https:\/\/models\.example\/org\/model\/[\w.-]+$/)

    const folder = await mkdtemp(join(tmpdir(), 'local-v1-lies-'))
    await writeRepository({ files: renamed(path), source }, folder)
    await expect(openRepository({ kind: 'folder', path: folder }, options)).rejects.toThrow(/which is not inside it/)
    await rm(folder, { recursive: true })
  })

  it('may have folders', () => {
    expect(within('here', '1_Pooling/config.json')).toBe('1_Pooling/config.json')
    expect(within('here', 'My%20Model..gguf')).toBe('My%20Model..gguf')
  })

  it('sends no file without end: one of unknown size has a bound, and nothing of it is kept', async () => {
    let sent = 0
    const piece = new Uint8Array(4 * 2 ** 20)
    const fetch = async (url: string) => {
      const name = url.replace('https://models.example/org/model/', '')
      if (name !== 'tokenizer.json') {
        const bytes = files.get(name)
        return bytes ? new Response(new Uint8Array(bytes)) : new Response(null, { status: 404 })
      }
      const pull = (controller: ReadableStreamDefaultController) => {
        sent += piece.length
        controller.enqueue(piece)
      }
      return new Response(new ReadableStream({ pull }))
    }
    const place = { kind: 'url', url: 'https://models.example/org/model/' } as const
    await expect(openRepository(place, { ...options, fetch })).rejects.toThrow(
      /tokenizer\.json has more than the \d+ bytes/,
    )
    expect(sent).toBeLessThan(200 * 2 ** 20)
  })
})

describe('redirects', () => {
  const to = (...places: string[]) => {
    const urls: string[] = []
    const fetch = carefully(async (url) => {
      urls.push(url)
      const location = places[urls.length - 1]
      return location === undefined ? new Response('here') : new Response(null, { status: 302, headers: { location } })
    })
    return { urls, ask: (url: string) => fetch(url, {}) }
  }

  it.each([
    'http://127.0.0.1/x',
    'https://127.0.0.1/x',
    'https://10.1.2.3/',
    'https://192.168.0.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/',
    'https://[fd00::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://2130706433/',
    'https://localhost/',
    'https://printer.local/',
    'http://cdn.example/x',
    'ftp://cdn.example/x',
  ])('to %s are not followed, and nothing is asked there', async (place) => {
    const { urls, ask } = to('https://cdn.example/a', place)
    await expect(ask('https://models.example/x')).rejects.toMatchObject({ code: 'model_files' })
    expect(urls).toEqual(['https://models.example/x', 'https://cdn.example/a'])
  })

  it('to public hosts over https are, and to the host that the user named', async () => {
    const { urls, ask } = to('https://cdn.example/a', '/b', 'https://models.example/c')
    expect(await (await ask('https://models.example/x')).text()).toBe('here')
    expect(urls.slice(1)).toEqual(['https://cdn.example/a', 'https://cdn.example/b', 'https://models.example/c'])
    const own = to('http://127.0.0.1:9000/y')
    expect(await (await own.ask('http://127.0.0.1:8000/x')).text()).toBe('here')
  })

  it('without end are left', async () => {
    await expect(to(...Array(50).fill('/again')).ask('https://models.example/x')).rejects.toThrow(/too often/)
  })

  it.each(['cdn-lfs.huggingface.co', '8.8.8.8', '[2606:4700::1111]', '172.32.0.1'])('%s is public', (host) => {
    expect(isPrivate(host)).toBe(false)
  })
})

it('a mark at the beginning of a text in a GGUF file is a part of it', () => {
  const text = new TextEncoder().encode('\ufeffa')
  const bytes = new Uint8Array(8 + text.length)
  bytes[0] = text.length
  bytes.set(text, 8)
  expect(new Reader(bytes).text()).toBe('\ufeffa')
})

describe('LongRoPE', () => {
  let device: Awaited<ReturnType<typeof openCpuDevice>>
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  it.each([
    ['all of it, where nobody asks: short texts have the short factors all the same', 2, {}, 512],
    ['what is asked for', 2, { contextLength: 256 }, 256],
    ['all of it, where both factors are the same', 1, {}, 512],
  ])('has %s', (_, long, size, length) => {
    const factors = (value: number) => Array(8).fill(value)
    const rope_scaling = { type: 'longrope', short_factor: factors(1), long_factor: factors(long) }
    const config = source.chatConfig.model_config as object
    const chatConfig = {
      ...source.chatConfig,
      model_config: { ...config, rope_scaling, original_max_position_embeddings: 64, max_position_embeddings: 512 },
    }
    expect(planModel({ ...source, chatConfig }, device, size).size.contextLength).toBe(length)
  })
})
