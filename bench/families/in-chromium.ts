/** Our core in a page of a headless Chromium, which reads the file as one that a person chose: from the disk, in parts. */

import { bundle } from '../../test/support/bundle.js'
import { launchChromium } from '../../test/support/chromium.js'
import { serveFiles } from '../../test/support/serve.js'
import { ISOLATED } from '../browser/run.js'
import type { Side, SideOptions } from './side.js'

/** One question at a time. */
const PAGE = `<!doctype html><input type="file"><script type="module">
const worker = new Worker('/worker.js', { type: 'module' })
globalThis.ask = (call) => new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => 'error' in data ? reject(new Error(data.error)) : resolve(data.value)
  worker.onerror = ({ message }) => reject(new Error(message || 'The worker could not be started.'))
  worker.postMessage('open' in call ? { ...call, open: document.querySelector('input').files[0] } : call)
})
</script>`

export async function chromiumSide(path: string, { threads, context }: Omit<SideOptions, 'clock'>): Promise<Side> {
  const files = { '/index.html': PAGE, '/worker.js': await bundle('bench/families/page-worker.ts') }
  const server = await serveFiles(files, '', ISOLATED)
  const browser = await launchChromium({ webgpu: false })
  const end = async () => {
    await browser.close()
    await server.close()
  }
  try {
    const page = await browser.newPage()
    // A prompt takes as long as it takes.
    page.setDefaultTimeout(0)
    await page.goto(server.origin)
    await page.waitForFunction('globalThis.ask !== undefined')
    await page.setInputFiles('input', path)
    const ask = (call: object) => page.evaluate(`ask(${JSON.stringify(call)})`) as Promise<number>
    await ask({ open: true, threads, context })
    return {
      read: (value) => ask({ call: 'read', value }),
      fill: async (value) => void (await ask({ call: 'fill', value })),
      write: (value) => ask({ call: 'write', value }),
      close: end,
    }
  } catch (error) {
    await end()
    throw error
  }
}
