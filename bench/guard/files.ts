/** What is asked of a server to open a model, the first time and once it is kept, by format. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { smallTokenizer } from '../../src/generate/testing/small-tokenizer.test-helper.js'
import { writeMadeUp } from '../../src/models/files/formats/gguf/made-up.test-helper.js'
import { hub } from '../../src/models/files/hub.test-helper.js'
import { openRepository, surveyRepository } from '../../src/models/files/open.js'
import { llama } from '../../test/oracles/families/llama.js'
import { safetensors } from '../../test/oracles/files/safetensors.js'
import { weightsOf } from '../../test/oracles/weights.js'
import type { Counts } from './compare.js'

type Files = ReadonlyMap<string, Uint8Array>
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

async function repositories(folder: string): Promise<Record<string, { files: Files; file?: string }>> {
  await writeMadeUp(join(folder, 'model.gguf'), { types: { '*': 'Q4_0' } })
  const { tokenizer, tokenizerConfig } = smallTokenizer()
  const described: [string, Uint8Array][] = [
    ['config.json', json(llama.config)],
    ['tokenizer.json', json(tokenizer)],
    ['tokenizer_config.json', json(tokenizerConfig)],
  ]
  const weights = safetensors(llama.tensors, weightsOf(llama), 'F16')
  return {
    MLC: { files: tinyRepository().files },
    safetensors: { files: new Map([...described, ['model.safetensors', weights]]) },
    GGUF: { files: new Map([['model.gguf', await readFile(join(folder, 'model.gguf'))]]), file: 'model.gguf' },
  }
}

export async function countFiles(): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-guard-'))
  const found: Record<string, Counts> = {}
  try {
    for (const [name, { files, file = '' }] of Object.entries(await repositories(folder))) {
      const server = await hub(files)
      let bytes = 0
      const fetch = async (url: string | URL | Request, init?: RequestInit) => {
        const response = await globalThis.fetch(url, init)
        if (response.ok) bytes += Number(response.headers.get('content-length') ?? 0)
        return response
      }
      const counted = async (ask: () => Promise<unknown>): Promise<Counts> => {
        server.requests.length = 0
        bytes = 0
        await ask()
        const there = server.requests.filter((request) => files.has(request.file))
        return {
          'requests of files that are there': there.length,
          'of files that are not': server.requests.length - there.length,
          'bytes promised': bytes,
        }
      }
      const cache = join(folder, name)
      const place = { kind: 'url', url: server.url + file } as const
      const options = { cache, fetch, report: () => {}, signal: new AbortController().signal }
      found[name] = {
        'what it is': await counted(() =>
          surveyRepository(place, { ...options, cache: join(folder, `${name}-asked`) }),
        ),
        'the first time': await counted(() => openRepository(place, options)),
        'once it is kept': await counted(() => openRepository(place, options)),
        'files kept': (await readdir(cache, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
          .length,
      }
      await server.close()
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  return found
}
