import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker as Thread } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bundle } from '../../../../test/support/bundle.js'
import { launchChromium } from '../../../../test/support/chromium.js'
import { serveFiles } from '../../../../test/support/serve.js'
import { useSwiftshader } from '../../../../test/support/swiftshader.js'
import { canUnpack } from '../../../../test/support/unpack.js'
import type { Engine } from '../../../contract/engine.js'
import { call, collect } from '../../../generate/testing/call.test-helper.js'
import { compile } from '../../../grammar/structured.js'
import { plain } from '../plain-model.test-helper.js'
import { chatConfig, files, record } from '../stand-in.test-helper.js'
import { overPort, webllm } from './index.js'

/** Where a script still finds the packages that it imports. */
const cache = fileURLToPath(new URL('../../../../node_modules/.cache/local-v1/', import.meta.url))

let folder: string
let script: string

beforeAll(async () => {
  await mkdir(cache, { recursive: true })
  folder = await mkdtemp(join(cache, 'webllm-'))
  script = join(folder, 'worker.mjs')
  await writeFile(script, await bundle('src/engines/webllm/worker/worker-entry.test-helper.ts'))
  await writeFile(join(folder, 'mlc-chat-config.json'), JSON.stringify(chatConfig))
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(files.tokenizer))
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(files.tokenizerConfig))
})
afterAll(() => rm(folder, { recursive: true }))

const schema = {
  type: 'object',
  properties: { status: { enum: ['open', 'closed'] }, count: { type: 'integer', minimum: 5, maximum: 9 } },
  required: ['status', 'count'],
  additionalProperties: false,
}
const strict = { grammar: compile(schema), output: { type: 'json_schema', name: 'x', strict: true, schema } as const }
const ask = (engine: Engine, part = {}) =>
  collect(engine.generate(call({ model: 'local/mine', maxTokens: 30, ...part })))

describe.skipIf(!canUnpack)('WebLLM in a worker (a GPU in software is there for Linux on x64)', () => {
  /** With the shims of Node, which the worker gives to itself. */
  async function inThread() {
    await useSwiftshader()
    const engine = webllm({
      models: [record('mine', { model: folder }), 'prebuilt'],
      cache: false,
      worker: () => new Thread(script) as unknown as Worker,
    })
    onTestFinished(() => engine.close!())
    return engine
  }

  test('in Node: the same answers, and the application keeps its globals', async () => {
    const before = Object.getOwnPropertyNames(globalThis)
    const engine = await inThread()
    expect(engine.models.map(({ id }) => id)).toEqual(['local/mine', 'mlc-ai/prebuilt'])
    await engine.ready
    expect((await ask(engine)).texts).toEqual((await plain()).texts)
    expect(strict.grammar.accepts((await ask(engine, strict)).texts[0]!)).toBe(true)
    expect(engine.models[0]).toMatchObject({ metadata: { loaded: true } })
    expect(process.versions.node).toMatch(/^\d/)
    expect(Object.getOwnPropertyNames(globalThis)).toEqual(before)
  })

  test('another line to it, for who can start no workers', async () => {
    const engine = await inThread()
    const port = engine.connect()
    const other = overPort(port)
    await other.ready
    expect(other.models).toEqual(engine.models)
    expect((await ask(other)).texts).toEqual((await plain()).texts)
    // It closes its own end and leaves the engine to the others.
    await other.close!()
    expect((await ask(engine)).texts).toEqual((await plain()).texts)
    await expect(ask(other)).rejects.toMatchObject({ status: 503 })
  })

  test('an option that cannot be sent is refused at once', () => {
    const engineConfig = { initProgressCallback: () => {} }
    expect(() => webllm({ engineConfig })).toThrow('initProgressCallback')
  })

  test('in a page', async () => {
    const [page, worker] = await Promise.all(
      ['page', 'worker'].map((name) => bundle(`src/engines/webllm/worker/${name}-entry.test-helper.ts`)),
    )
    const server = await serveFiles({
      '/index.html': '<!doctype html><script type="module" src="/page.js"></script>',
      '/page.js': page!,
      '/worker.js': worker!,
      '/mine/resolve/main/mlc-chat-config.json': JSON.stringify(chatConfig),
      '/mine/resolve/main/tokenizer.json': JSON.stringify(files.tokenizer),
      '/mine/resolve/main/tokenizer_config.json': JSON.stringify(files.tokenizerConfig),
    })
    const browser = await launchChromium()
    try {
      const tab = await browser.newPage()
      await tab.goto(server.origin)
      const texts = await tab.evaluate(() => (globalThis as unknown as { answers: Promise<string[]> }).answers)
      const [expected] = (await plain()).texts
      expect(texts).toEqual([expected, expected])
    } finally {
      await browser.close()
      await server.close()
    }
  })
})
