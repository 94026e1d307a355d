import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { engineChecks, type Served } from '../../../test/contract/engine.js'
import { valid } from '../../../test/contract/speak.js'
import { createV1, type V1 } from '../../index.js'
import { writeMadeUp } from '../../models/files/formats/gguf/made-up.test-helper.js'
import { llamaCpp } from './index.js'
import { hasPeer, lack, loadPeer } from './peer.test-helper.js'

const CONTEXT = 1024

describe.skipIf(!hasPeer)(`the service over llama.cpp itself${lack}`, () => {
  let folder: string
  let v1: V1
  let served: Served
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'local-v1-llama-cpp-'))
    const path = join(folder, 'made-up.gguf')
    const metadata = (out: { u32(name: string, value: number): void }) => out.u32('llama.context_length', CONTEXT)
    await writeMadeUp(path, { types: { '*': 'Q8_0' }, vocabulary: 'bpe', metadata })
    const engine = llamaCpp({ models: [path], device: 'cpu', threads: 1, loader: loadPeer, log: () => {} })
    v1 = createV1({ engine, keys: 'none', log: () => {} })
    served = { fetch: v1.fetch, model: 'local/made-up', contextLength: CONTEXT, valid }
  })
  afterAll(async () => {
    await v1?.close()
    await rm(folder, { recursive: true })
  })

  test.each(engineChecks.map((check) => [check.name, check] as const))('%s', (_, check) => check.run(served))
})
