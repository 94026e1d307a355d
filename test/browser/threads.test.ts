import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { filesIn } from '../support/folder.js'
import { serveFiles } from '../support/serve.js'
import { visitor } from '../support/tabs.js'
import { canUnpack } from '../support/unpack.js'

const run = promisify(execFile)
const root = new URL('../../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')
// Inside the package, where `local-v1` is its own build.
const folder = new URL('test-output/threads/', root)

/** The command that README gives, and the script that it builds; with a model that is here, and more than one thread. */
const [, command] = readme.match(/`npx (esbuild v1\.ts [^`]*)`/)!
const script = [...readme.matchAll(/^```ts check\n([\s\S]*?)^```$/gm)]
  .map(([, code]) => code!)
  .find((code) => code.includes('serviceWorker(createV1('))!
const models = /models: \['mlc-ai\/[^\]]*\]/

const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }
const STRICT = {
  'content-security-policy':
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'; trusted-types tab local-v1",
}

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
})

const cwd = fileURLToPath(folder)
const build = (args: readonly string[]) => run(esbuild, [...args], { cwd })
const esbuild = fileURLToPath(new URL('node_modules/esbuild/bin/esbuild', root))

describe.skipIf(!canUnpack)(
  'the CPU device has threads in one bundled file (npm has Chromium for Linux on x64)',
  () => {
    let browser: Browser
    const files: Record<string, string | Uint8Array> = {}

    beforeAll(async () => {
      expect(script).toMatch(models)
      const nano = "models: [{ id: 'local-v1/nano', from: location.origin + '/nano/' }], threads: 3"
      await writeFile(new URL('v1.ts', folder), script.replace(models, nano))
      await run('npx', command!.split(' '), { cwd })
      const module = await readFile(new URL('public/v1.js', folder))
      await build(['v1.ts', '--bundle', '--format=iife', '--outfile=public/classic.js', '--log-level=error'])
      for (const [path, bytes] of Object.entries(await filesIn(fileURLToPath(new URL('models/nano/', root)))))
        if (/^\/[\w-]+\.(json|bin)$/.test(path)) files[`/nano${path}`] = bytes
      files['/index.html'] = '<!doctype html><meta charset="utf-8"><script type="module" src="/tab.js"></script>'
      files['/tab.js'] = await bundle('test/browser/tab.ts')
      files['/v1.js'] = module
      files['/classic.js'] = await readFile(new URL('public/classic.js', folder))
      browser = await sharedChromium()
    })
    afterAll(() => browser?.close())

    test.each([
      ['README’s command', { script: '/v1.js' }, {}],
      ['under a strict Content-Security-Policy', { script: '/v1.js' }, STRICT],
      ['as a classic script, under the same', { script: '/classic.js', type: 'classic' }, STRICT],
    ] as const)('%s', async (_, install, headers) => {
      const server = await serveFiles(files, 'nothing', { ...ISOLATED, ...headers })
      const here = await visitor(browser, server.origin, install)
      try {
        const tab = await here.open()
        const chat = await tab.chat({ model: 'local-v1/nano', max_tokens: 4 }, 'device')
        expect((await chat.done()).failed).toBeUndefined()
        const { data } = await tab.json<{ data: { metadata: { device_name: string } }[] }>('/v1/models')
        expect(data[0]!.metadata.device_name).toMatch(/, 3 threads$/)
      } finally {
        await here.context.close()
        await server.close()
      }
    })
  },
)

const ask = `
import { createV1 } from 'local-v1'
import { webgpu } from 'local-v1/webgpu'
const v1 = createV1({ engine: webgpu({ models: [{ id: 'local-v1/nano', from: process.argv[2] }], device: 'cpu', threads: 3, log: () => {} }), keys: 'none' })
await v1.load('local-v1/nano')
const { data } = await (await v1.fetch(new Request('http://localhost/v1/models'))).json()
console.log(data[0].metadata.device_name)
await v1.close()`

test('the CPU device has threads in one file for Node', async () => {
  await writeFile(new URL('ask.mjs', folder), ask)
  await build([
    'ask.mjs',
    '--bundle',
    '--format=esm',
    '--platform=node',
    '--outfile=alone/ask.mjs',
    '--log-level=error',
  ])
  const nano = fileURLToPath(new URL('models/nano/', root))
  const { stdout } = await run(process.execPath, [fileURLToPath(new URL('alone/ask.mjs', folder)), nano])
  expect(stdout.trim()).toMatch(/, 3 threads$/)
})
