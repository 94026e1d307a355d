import { createHash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { offeredModel } from '../../../../engines/webgpu/location.js'
import { tinyRepository, writeRepository } from '../../../../engines/webgpu/tiny-repository.test-helper.js'
import { writeMadeUp } from '../../formats/gguf/made-up.test-helper.js'
import { locationOf } from '../../location.js'
import { forget, isWhole, keptOf, type OpenOptions, openRepository } from '../../open.js'
import { verify } from '../../verify.js'
import type { Disk } from './foreign.js'
import { findForeign, listForeign } from './index.js'

const { mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } = fs

let home: string
let model: Buffer
let sha256: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'local-v1-foreign-'))
  const names = ['OLLAMA_MODELS', 'HF_HUB_CACHE', 'HUGGINGFACE_HUB_CACHE', 'HF_HOME', 'XDG_CACHE_HOME']
  for (const name of names) vi.stubEnv(name, '')
  vi.stubEnv('HOME', home)
  vi.stubEnv('USERPROFILE', home)
  const path = join(home, 'made-up.gguf')
  await writeMadeUp(path, { types: { '*': 'Q8_0' } })
  model = await readFile(path)
  sha256 = createHash('sha256').update(model).digest('hex')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(home, { recursive: true })
})

async function write(path: string, contents: string | Uint8Array): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, contents)
  return path
}

/** As `ollama pull` leaves it; the path of the weights. */
async function ollama(
  models: string,
  name: string,
  { size = model.length, kinds = ['model', 'template', 'params'] }: { size?: number; kinds?: string[] } = {},
): Promise<string> {
  const layers = kinds.map((kind) => ({
    mediaType: `application/vnd.ollama.image.${kind}`,
    digest: kind === 'model' ? `sha256:${sha256}` : `sha256:${'0'.repeat(64)}`,
    size: kind === 'model' ? size : 3,
  }))
  await write(join(models, 'manifests', name), JSON.stringify({ schemaVersion: 2, layers }))
  return write(join(models, 'blobs', `sha256-${sha256}`), model)
}

/** As Hugging Face's libraries leave it: links to files by their hashes. */
async function hugging(hub: string, repository: string, files: ReadonlyMap<string, Uint8Array>): Promise<string> {
  const folder = join(hub, `models--${repository.replace('/', '--')}`)
  await write(join(folder, 'refs', 'main'), 'c0ffee')
  for (const [name, bytes] of files) {
    const hash = createHash('sha256').update(bytes).digest('hex')
    await write(join(folder, 'blobs', hash), bytes)
    const link = join(folder, 'snapshots', 'c0ffee', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(folder, 'blobs', hash), link)
  }
  return folder
}

/** Answers at once, so that nobody tries again. */
const offline: OpenOptions['fetch'] = async () => new Response('', { status: 401 })
const open = (name: string) =>
  openRepository(locationOf(name), {
    report: () => {},
    signal: new AbortController().signal,
    cache: join(home, 'ours'),
    fetch: offline,
  })
const refusal = (name: string) =>
  open(name).then(
    () => expect.fail('it was not refused'),
    (error: Error) => error.message,
  )
const listed = async () => (await listForeign()).map(({ name, store }) => `${name} (${store})`)
async function verified(name: string) {
  const found = []
  for await (const each of verify(locationOf(name), join(home, 'ours'), new AbortController().signal)) found.push(each)
  return found
}
/** Weights come from where they lie, and nothing is copied. */
async function expectServed(name: string): Promise<void> {
  const { weights } = await open(name)
  expect((await weights.read('blk.0.attn_norm.weight')).shape).toEqual([256])
  expect(await readdir(join(home, 'ours')).catch(() => [])).toEqual([])
}

describe('Ollama', () => {
  it.each([
    ['the user’s folder', {}, '.ollama/models'],
    ['OLLAMA_MODELS', { OLLAMA_MODELS: 'elsewhere' }, 'elsewhere'],
  ])('a model in %s is served where it lies', async (_, environment, folder) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, join(home, value))
    await ollama(join(home, folder), 'registry.ollama.ai/library/qwen3.5/0.8b')
    expect(await listed()).toEqual(['ollama:qwen3.5:0.8b (Ollama)'])
    await expectServed('ollama:qwen3.5:0.8b')
  })

  it('a model of the service that its installers set up is found behind the user’s own', async () => {
    // The same disk, all of it below another root.
    const at = (path: unknown) => join(home, String(path))
    const below = {
      ...fs,
      readdir: (path: unknown, options: { withFileTypes: true }) => readdir(at(path), options),
      readFile: (path: unknown) => readFile(at(path), 'utf8'),
    }
    const disk: Disk = { fs: below as unknown as Disk['fs'], home: '/me', platform: 'linux', environment: {} }
    for (const folder of ['/usr/share/ollama/.ollama/models', '/var/lib/ollama/models', '/me/.ollama/models']) {
      await ollama(at(folder), 'registry.ollama.ai/library/small/latest')
      const newest = (await findForeign('ollama', 'small', disk)).folder
      const first = folder === '/var/lib/ollama/models' ? '/usr/share/ollama/.ollama/models' : folder
      expect(newest).toBe(`${first}/blobs`)
    }
    expect((await listForeign(disk)).map(({ name }) => name)).toEqual(['ollama:small:latest'])
  })

  it('names are those of Ollama, with a tag of their own where none is given', async () => {
    const models = join(home, '.ollama/models')
    await ollama(models, 'registry.ollama.ai/library/small/latest')
    await ollama(models, 'registry.ollama.ai/somebody/small/7b')
    await ollama(models, 'hf.co/org/small-GGUF/Q4_K_M')
    expect((await listForeign()).map(({ name }) => name)).toEqual([
      'ollama:hf.co/org/small-GGUF:Q4_K_M',
      'ollama:small:latest',
      'ollama:somebody/small:7b',
    ])
    for (const name of ['small', 'small:latest', 'somebody/small:7b', 'hf.co/org/small-GGUF:Q4_K_M'])
      await open(`ollama:${name}`)
    expect(offeredModel('ollama:small:7b').id).toBe('ollama/small-7b')
    expect(await refusal('ollama:other')).toMatch(
      /Ollama has no such model; there are ollama:hf\.co.*somebody\/small:7b/,
    )
    expect(await refusal('ollama:small:9b')).toContain('has no such model')
  })

  it('a cut file is named as such, and its hash is held against its digest when asked', async () => {
    const name = 'ollama:small'
    const path = await ollama(join(home, '.ollama/models'), 'registry.ollama.ai/library/small/latest')
    expect(await verified(name)).toEqual([{ name: `sha256-${sha256}`, by: 'sha256' }])
    const changed = Buffer.from(model)
    changed[changed.length - 1]! ^= 1
    await writeFile(path, changed)
    expect((await verified(name))[0]!.fault).toMatch(new RegExp(`^its hash is [0-9a-f]{64} and should be ${sha256}$`))
    await truncate(path, model.length - 1)
    const cut = `is incomplete: it has ${model.length - 1} bytes and should have ${model.length}`
    expect(await refusal(name)).toContain(cut)
    expect((await verified(name))[0]!.fault).toContain(cut)
    await rm(path)
    expect(await refusal(name)).toContain('is missing')
  })

  it.each([
    ['an adapter', ['model', 'adapter'], 'has an adapter'],
    ['weights in another form', ['tensor', 'tensor'], 'in several files'],
    ['none at all', ['template'], 'names no weights'],
  ])('%s is refused by name', async (_, kinds, message) => {
    await ollama(join(home, '.ollama/models'), 'registry.ollama.ai/library/small/latest', { kinds })
    expect(await refusal('ollama:small')).toContain(message)
  })

  it('is not where a model is deleted, or counted as ours', async () => {
    const path = await ollama(join(home, '.ollama/models'), 'registry.ollama.ai/library/small/latest')
    const place = locationOf('ollama:small')
    await forget(place, join(home, 'ours'))
    expect(await keptOf(place, join(home, 'ours'))).toBe(0)
    expect((await readFile(path)).length).toBe(model.length)
  })
})

describe('LM Studio', () => {
  it.each<[string, Record<string, (home: string) => string>, string]>([
    ['its folder', {}, '.lmstudio/models'],
    ['its older folder', { '.cache/lm-studio/config.json': () => '{}' }, '.cache/lm-studio/models'],
    ['where its pointer says', { '.lmstudio-home-pointer': (at) => `${at}/moved\n` }, 'moved/models'],
    [
      'where its settings say',
      { '.lmstudio/settings.json': (at) => JSON.stringify({ downloadsFolder: `${at}/large` }) },
      'large',
    ],
  ])('a model in %s is served where it lies', async (_, texts, folder) => {
    for (const [name, text] of Object.entries(texts)) await write(join(home, name), text(home))
    await write(join(home, folder, 'org/small-GGUF/small-Q8_0.gguf'), model)
    expect(await listed()).toEqual(['lmstudio:org/small-GGUF/small-Q8_0.gguf (LM Studio)'])
    await expectServed('lmstudio:org/small-GGUF/small-Q8_0.gguf')
  })

  it('a model is named by as much as it takes', async () => {
    const folder = join(home, '.lmstudio/models/org')
    await write(join(folder, 'small-GGUF/small-Q8_0.gguf'), model)
    await write(join(folder, 'small-GGUF/small-Q4_K_M.gguf'), model)
    await write(join(folder, 'small-GGUF/mmproj-small-Q8_0.gguf'), model)
    await write(join(folder, 'parts-GGUF/parts-00001-of-00002.gguf'), model)
    await write(join(folder, 'parts-GGUF/parts-00002-of-00002.gguf'), model)
    expect(await listForeign()).toHaveLength(3)
    for (const name of ['org/small-GGUF:q8_0', 'small-GGUF:Q4_K_M', 'small-Q8_0', 'org/small-GGUF/small-Q4_K_M'])
      await open(`lmstudio:${name}`)
    expect(await refusal('lmstudio:org/small-GGUF')).toMatch(/that may be .*small-Q4_K_M\.gguf, .*small-Q8_0\.gguf/)
    expect(offeredModel('lmstudio:org/small-GGUF/small-Q8_0.gguf').id).toBe('lmstudio/small-Q8_0')
    // Nobody says how long it should be but its own head.
    await truncate(join(folder, 'small-GGUF/small-Q8_0.gguf'), model.length - 4096)
    expect(await refusal('lmstudio:small-Q8_0')).toContain('is incomplete')
    expect((await verified('lmstudio:small-Q8_0'))[0]).toMatchObject({
      by: 'size',
      fault: expect.stringMatching(/is incomplete/),
    })
  })
})

describe('the cache of Hugging Face', () => {
  it.each([
    ['HF_HUB_CACHE', { HF_HUB_CACHE: 'a' }, 'a'],
    ['HUGGINGFACE_HUB_CACHE', { HUGGINGFACE_HUB_CACHE: 'd' }, 'd'],
    ['HF_HOME', { HF_HOME: 'b' }, 'b/hub'],
    ['XDG_CACHE_HOME', { XDG_CACHE_HOME: 'c' }, 'c/huggingface/hub'],
    ['the user’s folder', {}, '.cache/huggingface/hub'],
  ])('a file of a repository in %s is not downloaded again', async (_, environment, folder) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, join(home, value))
    await hugging(join(home, folder), 'org/small-GGUF', new Map([['small-Q8_0.gguf', model]]))
    expect(await listed()).toEqual(['org/small-GGUF/small-Q8_0.gguf (Hugging Face)'])
    await expectServed('org/small-GGUF/small-Q8_0.gguf')
    await expectServed('hf:org/small-GGUF:q8_0')
    expect(await isWhole(locationOf('hf:org/small-GGUF:Q8_0'), join(home, 'ours'))).toBe(true)
    expect(await verified('org/small-GGUF/small-Q8_0.gguf')).toEqual([{ name: 'small-Q8_0.gguf', by: 'sha256' }])
  })

  it('a whole repository is taken from it; one that lacks a file is not', async () => {
    const { files, source } = tinyRepository()
    const folder = await hugging(join(home, '.cache/huggingface/hub'), 'org/tiny', files)
    const { weights } = await open('org/tiny')
    for (const name of source.names) {
      expect(Buffer.compare((await weights.read(name)).data, (await source.read(name)).data), name).toBe(0)
    }
    await rm(join(folder, 'snapshots/c0ffee/params_shard_0.bin'))
    expect(await isWhole(locationOf('org/tiny'), join(home, 'ours'))).toBe(false)
    expect(await refusal('org/tiny')).toMatch(/huggingface\.co.* the server refuses/)
  })

  it('one’s own copy comes first', async () => {
    const tiny = tinyRepository()
    await writeRepository(tiny, join(home, 'ours/huggingface.co/org/tiny/resolve/main'))
    const other = new Map(tiny.files).set(
      'params_shard_0.bin',
      tiny.files.get('params_shard_0.bin')!.map(() => 0),
    )
    await hugging(join(home, '.cache/huggingface/hub'), 'org/tiny', other)
    const { weights } = await open('org/tiny')
    const [name] = tiny.source.names
    expect(Buffer.compare((await weights.read(name!)).data, (await tiny.source.read(name!)).data)).toBe(0)
  })
})
