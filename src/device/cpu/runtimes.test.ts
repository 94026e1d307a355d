import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundle } from '../../../test/support/bundle.js'
import { launchChromium } from '../../../test/support/chromium.js'
import { denoPath } from '../../../test/support/deno.js'
import { listen } from '../../../test/support/serve.js'
import { start } from '../../../test/support/spawn.js'
import { BYTE_PRODUCTS } from './byte-products.js'
import { openCpuDevice } from './index.js'
import { blocks, layer } from './layer.test-helper.js'
import type { Outcome } from './runtime-entry.test-helper.js'

const ENTRY = 'src/device/cpu/runtime-entry.test-helper.ts'
const WORKER = 'src/device/cpu/cpu-worker.ts'

/** What Node computes: every runtime, build and number of threads must come to the same. */
async function expected(): Promise<number[]> {
  const device = await openCpuDevice({ threads: 1 })
  const values = [...(await layer(device, 6)), ...(await blocks(device))]
  device.destroy()
  return values
}

async function expectSame(outcomes: readonly Outcome[]) {
  const values = await expected()
  for (const { name, values: found, work } of outcomes) {
    expect(found, name).toEqual(values)
    expect(work.length, name).toBe(name.endsWith('3 threads') ? 3 : 1)
    if (work.length > 1) expect(Math.min(...work), `${name} did ${work}`).toBeGreaterThan(0)
  }
}

describe('the CPU device', () => {
  it('computes the same in Deno, in both builds, on one thread and on three, and lets it exit', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-cpu-'))
    try {
      await writeFile(join(folder, 'main.mjs'), await bundle(ENTRY))
      const running = start(denoPath(), [
        'run',
        '--no-lock',
        '--no-config',
        '--allow-read',
        '--allow-sys',
        join(folder, 'main.mjs'),
      ])
      expect((await running.exit).code, running.output()).toBe(0)
      const [line] = await running.line(/^\[.*\]$/)
      const outcomes = JSON.parse(line) as Outcome[]
      expect(outcomes.map(({ name }) => name)).toEqual([
        'WebAssembly SIMD, one thread',
        'WebAssembly SIMD, 3 threads',
        'WebAssembly relaxed SIMD, one thread',
        'WebAssembly relaxed SIMD, 3 threads',
        ...BYTE_PRODUCTS.map(() => 'WebAssembly relaxed SIMD, one thread'),
      ])
      await expectSame(outcomes)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it.each([
    ['isolated', '3 threads'],
    ['not isolated', 'one thread, because the page is not cross-origin isolated'],
  ])('computes the same in a page that is %s, under a strict content security policy', async (kind, threads) => {
    const files: Record<string, string> = {
      '/index.html': '<script type="module" src="/main.js"></script>',
      '/main.js': await bundle(ENTRY),
      '/cpu-worker.js': await bundle(WORKER),
    }
    const server = await listen((request, response) => {
      const path = request.url === '/' ? '/index.html' : request.url!
      response.setHeader('content-security-policy', "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'")
      response.setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html')
      if (kind === 'isolated') {
        response.setHeader('cross-origin-opener-policy', 'same-origin')
        response.setHeader('cross-origin-embedder-policy', 'require-corp')
      }
      response.end(files[path] ?? '')
    })
    const browser = await launchChromium({ webgpu: false })
    try {
      const page = await browser.newPage()
      await page.goto(server.origin)
      await page.waitForFunction('globalThis.outcomes !== undefined')
      const outcomes = (await page.evaluate('globalThis.outcomes()')) as Outcome[]
      expect(outcomes.map(({ name }) => name)).toEqual([
        expect.stringContaining('WebAssembly SIMD, one thread'),
        `WebAssembly SIMD, ${threads}`,
        expect.stringContaining('WebAssembly relaxed SIMD, one thread'),
        `WebAssembly relaxed SIMD, ${threads}`,
        ...BYTE_PRODUCTS.map(() => expect.stringContaining('WebAssembly relaxed SIMD, one thread')),
      ])
      await expectSame(outcomes)
    } finally {
      await browser.close()
      await server.close()
    }
  })
})
