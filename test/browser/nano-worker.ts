/** Run as a service worker, and as the worker of each tab: the embedded model, on the device that the address names. */
import { serviceWorker } from '../../adapters/service-worker/index.js'
import { webgpu } from '../../src/engines/webgpu/index.js'
import type { DevicePreference } from '../../src/engines/webgpu/options.js'
import { createV1, indexedDbUsage } from '../../src/index.js'

const { searchParams } = new URL(location.href)
const device = searchParams.get('device') as DevicePreference
const threads = Number(searchParams.get('threads') ?? 0) || undefined
const from = `${location.origin}/${searchParams.get('from') ?? 'nano'}/`
const encoder = { id: 'test/encoder', from: `${location.origin}/encoder/` }
const models = [{ id: 'local-v1/nano', from }, ...(searchParams.has('encoder') ? [encoder] : [])]
const v1 = createV1({
  engine: webgpu({ models, device, threads, log: () => {} }),
  keys: 'none',
  usage: indexedDbUsage(),
})
serviceWorker(v1, { claim: searchParams.get('claim') !== 'no' })
