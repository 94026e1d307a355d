import { expect, test } from 'vitest'
import { scripted } from '../../src/engines/scripted.js'
import { createV1 } from '../../src/index.js'
import { install, serviceWorker } from './index.js'

// In a service worker, in a worker and in pages: test/browser.
test('elsewhere both say where they belong', async () => {
  const v1 = createV1({ engine: scripted({ models: { 'test/hello': 'Hello.' } }), keys: 'none' })
  expect(() => serviceWorker(v1)).toThrow('in the script of a service worker, and install() in the page')
  await expect(install({ script: '/v1.js' })).rejects.toMatchObject({
    code: 'service_worker_unsupported',
    message: expect.stringContaining('for pages'),
  })
})
