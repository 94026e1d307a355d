import { expect, test, vi } from 'vitest'
import { scripted } from '../../src/engines/scripted.js'
import { createV1 } from '../../src/index.js'
import { host } from './host.js'
import { install, serviceWorker } from './index.js'
import { ALONE } from './messages.js'
import { pagesAlone } from './pages-alone.js'

// In a service worker, in a worker and in pages: test/browser.
test('elsewhere both say where they belong', async () => {
  const v1 = createV1({ engine: scripted({ models: { 'test/hello': 'Hello.' } }), keys: 'none' })
  expect(() => serviceWorker(v1)).toThrow('in the script of a service worker, and install() in the page')
  await expect(install({ script: '/v1.js' })).rejects.toMatchObject({
    code: 'service_worker_unsupported',
    message: expect.stringContaining('for pages'),
  })
})

test.each(['/v1', 'v1/', '/v1/'])('a service worker that only routes takes what lies under %s', async (basePath) => {
  const routed = pagesAlone(basePath)
  const paths = ['/v1', '/v1/models', '/v10', '/', '/app/v1/models', '/v1?x']
  const taken = paths.filter((path) => routed.match({ url: `https://app.example${path}` }))
  expect(taken).toEqual(['/v1', '/v1/models', '/v1?x'])
  const answer = await routed.fetch(new Request('https://app.example/v1/models'))
  expect([answer.status, (await answer.json()).error.code]).toEqual([503, 'device_unreachable'])
})

test('the worker that runs the engine loads a model before anybody asks, where it was told to', async () => {
  const load = vi.fn(async () => {})
  const v1 = { ...createV1({ engine: scripted({ models: { 'test/hello': 'Hello.' } }), keys: 'none' }), load }
  host(v1, { name: ALONE, postMessage: () => {}, addEventListener: () => {} }, 'test/hello')
  await expect.poll(() => load.mock.calls).toEqual([['test/hello']])
})
