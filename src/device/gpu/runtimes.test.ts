import { describe, expect, it } from 'vitest'
import { bundle } from '../../../test/support/bundle.js'
import { launchChromium } from '../../../test/support/chromium.js'
import { startDeno } from '../../../test/support/deno.js'
import { serveFiles } from '../../../test/support/serve.js'
import { sharedGpu } from '../../../test/support/shared-gpu.js'
import { type Answer, answers } from './runtime-entry.test-helper.js'

const ENTRY = 'src/device/gpu/runtime-entry.test-helper.ts'
const expected = sharedGpu().then((gpu) => answers([true, false], gpu))

describe('WebGPU', () => {
  it('gives the same tokens in Deno as in Node', async () => {
    const running = await startDeno(ENTRY, { gpu: true })
    const [line] = await running.line(/^\[.*\]$/)
    expect(JSON.parse(line)).toEqual(await expected)
    await running.exit
  })

  it('gives the same tokens in a page, in a worker and in a service worker as in Node', async () => {
    const script = await bundle(ENTRY)
    const server = await serveFiles({
      '/index.html': '<!doctype html><script type="module" src="/main.js"></script>',
      '/main.js': script,
    })
    const browser = await launchChromium()
    try {
      const page = await browser.newPage()
      await page.goto(server.origin)
      const inPage = await page.evaluate(() => (globalThis as unknown as { answers: Promise<Answer[]> }).answers)
      const inWorker = await page.evaluate(
        () =>
          new Promise((resolve, reject) => {
            const worker = new Worker('/main.js', { type: 'module' })
            worker.onmessage = (event) => resolve(event.data)
            worker.onerror = (event) => reject(new Error(event.message))
          }),
      )
      const inServiceWorker = await page.evaluate(async () => {
        await navigator.serviceWorker.register('/main.js', { type: 'module' })
        const { active } = await navigator.serviceWorker.ready
        return new Promise((resolve) => {
          navigator.serviceWorker.onmessage = (event) => resolve(event.data)
          active!.postMessage('answer')
        })
      })
      const [serial] = await expected
      expect(inPage).toEqual([serial])
      expect(inWorker).toEqual([serial])
      expect(inServiceWorker).toEqual([serial])
    } finally {
      await browser.close()
      await server.close()
    }
  })
})
