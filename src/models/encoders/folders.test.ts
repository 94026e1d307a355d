import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MARKS, minilm } from '../../../test/oracles/encoders/bert.js'
import type { EncoderCase } from '../../../test/oracles/encoders/encoder-case.js'
import { wordsTokenizer, writeEncoder } from '../../../test/oracles/files/repository.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { openRepository } from '../files/open.js'
import { planEncoderLoad } from './load-encoder.js'

describe('a folder of an encoder', () => {
  const folder = ownFolder()
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  async function planned(files: NonNullable<EncoderCase['files']>) {
    const path = await mkdtemp(join(folder, 'encoder-'))
    await writeEncoder({ ...minilm, files }, path, wordsTokenizer(minilm, MARKS))
    const options = { report: () => {}, signal: new AbortController().signal } as const
    const { weights } = await openRepository({ kind: 'folder', path }, options)
    return planEncoderLoad(weights, device, { name: 'test/it' })
  }

  it('makes vectors with the modules of sentence-transformers, wherever in its package they lie', async () => {
    expect((await planned(minilm.files!)).task).toBe('embed')
    const moved = JSON.stringify(minilm.files).replace(
      /sentence_transformers\.models\.(\w+)/g,
      'sentence_transformers.base.modules.$1',
    )
    expect((await planned(JSON.parse(moved))).task).toBe('embed')
  })

  it('says which files are missing where nothing says how rows become a vector', async () => {
    await expect(planned({})).rejects.toThrow(/Missing: .*modules\.json and 1_Pooling\/config\.json/)
  })

  it('is refused where a module is code of its own, which may choose a LoRA by the task', async () => {
    const own = JSON.stringify(minilm.files).replace(
      'sentence_transformers.models.Transformer',
      'custom_st.Transformer',
    )
    await expect(planned(JSON.parse(own))).rejects.toThrow(/custom_st\.Transformer.* is not supported/)
  })
})
