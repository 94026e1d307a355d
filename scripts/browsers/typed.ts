/** What every browser computes on its CPU, beside what Node does. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'
import type { Tab } from '../../test/browser/tab.js'
import { typedAnswers } from '../../test/contract/typed.js'
import { MARKS, minilm } from '../../test/oracles/encoders/bert.js'
import { wordsTokenizer, writeEncoder } from '../../test/oracles/files/repository.js'
import { filesIn } from '../../test/support/folder.js'
import { ISOLATED, open, type Scenario } from './scenarios.js'

type InPage = { readonly tab: Tab }

const models = { model: 'local-v1/nano', encoder: 'test/encoder' }
const NANO = fileURLToPath(new URL('../../models/nano', import.meta.url))
const WORKER = { script: '/nano-classic.js?device=cpu&encoder=yes', type: 'classic' } as const

/** A model with made-up weights that makes vectors, by path. */
export const encoderFiles = () => inFolder(filesIn)

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-encoder-'))
  try {
    await writeEncoder(minilm, folder, wordsTokenizer(minilm, MARKS))
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

let known: Promise<unknown> | undefined
const inNode = () =>
  (known ??= inFolder(async (folder) => {
    const offered = [
      { id: models.model, from: NANO },
      { id: models.encoder, from: folder },
    ]
    const engine = webgpu({ models: offered, device: 'cpu', threads: 1, worker: false, log: () => {} })
    const v1 = createV1({ engine, keys: 'none' })
    const answers = await typedAnswers((path, init) => v1.fetch(new Request(`http://localhost${path}`, init)), models)
    await v1.close()
    return answers
  }))

export const typed: Scenario = {
  name: 'decisions, extractions, a strict document and vectors: the very bits of Node, from a page’s worker, a service worker and without one',
  headers: ISOLATED,
  async run(here) {
    const expected = await inNode()
    const same = async (tab: Awaited<ReturnType<typeof open>>, by: 'device' | 'service worker') => {
      const answers = await tab.evaluate(
        (by, models) => (window as unknown as InPage).tab.typed(by, models),
        by,
        models,
      )
      assert.deepEqual(JSON.parse(answers), expected)
    }
    const tab = await open(here, WORKER)
    await same(tab, 'service worker')
    await same(tab, 'device')
    // Without a page that has a worker it answers by itself.
    await tab.evaluate(() => (window as unknown as InPage).tab.close())
    await same(tab, 'service worker')
    await tab.close()
    const alone = await here.browser.open(here.origin)
    await alone.evaluate(() => void Object.defineProperty(navigator, 'serviceWorker', { value: undefined }))
    const limits = await alone.evaluate(
      async (options) => (await (window as unknown as InPage).tab.install(options)).limits,
      WORKER,
    )
    assert.match(limits ?? '', /no service worker/)
    await same(alone, 'device')
    await alone.close()
  },
}
