/** A page that came over a network by plain http: it has no WebGPU, `subtle`, `randomUUID`, locks or caches. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { canUnpack } from '../support/unpack.js'
import type { Ask } from './insecure.js'

const ORIGIN = 'http://lan.example'

async function opened(): Promise<Page> {
  const browser = await sharedChromium()
  const page = await browser.newPage()
  const script = await bundle('test/browser/insecure.ts')
  const { files } = tinyRepository()
  await page.route(`${ORIGIN}/**`, (route) => {
    const { pathname } = new URL(route.request().url())
    if (pathname === '/')
      return route.fulfill({ contentType: 'text/html', body: '<script type="module" src="/it.js"></script>' })
    if (pathname === '/it.js') return route.fulfill({ contentType: 'text/javascript', body: script })
    const file = files.get(pathname.replace('/tiny/', ''))
    return route.fulfill(file ? { body: Buffer.from(file) } : { status: 404 })
  })
  await page.goto(ORIGIN)
  return page
}

describe.skipIf(!canUnpack)('a page that is not secure (npm has Chromium for Linux on x64)', () => {
  test('has a service with keys that answers on the CPU, and says why there is no WebGPU', async () => {
    const page = await opened()
    expect(await page.evaluate(() => isSecureContext)).toBe(false)
    const ask: Ask = (device, path, body) =>
      page.evaluate(([device, path, body]) => (window as unknown as { ask: Ask }).ask(device, path, body), [
        device,
        path,
        body,
      ] as const)
    const chat = { model: 'test/tiny', max_tokens: 4, messages: [{ role: 'user', content: 'Hello' }] }
    expect(await ask('auto', '/v1/chat/completions', chat)).toEqual([200, expect.stringContaining('"choices"')])
    expect(await ask('auto', '/v1/models')).toEqual([200, expect.stringMatching(/"device_reason":"[^"]*https/)])
    expect(await ask('auto', '/api/tags')).toEqual([200, expect.stringMatching(/"digest":"[0-9a-f]{64}"/)])
    const [status, text] = await ask('webgpu', '/v1/chat/completions', chat)
    expect([status, JSON.parse(text).error]).toEqual([
      503,
      expect.objectContaining({ code: 'device_unavailable', message: expect.stringContaining('https') }),
    ])
    await page.context().close()
  })
})
