/** Run as a service worker, and as the worker of each tab: the embedded model, on the device that the address names. */
import { serviceWorker } from '../../adapters/service-worker/index.js'
import { webgpu } from '../../src/engines/webgpu/index.js'
import type { DevicePreference } from '../../src/engines/webgpu/options.js'
import { createV1, indexedDbUsage } from '../../src/index.js'

const device = new URL(location.href).searchParams.get('device') as DevicePreference
const models = [{ id: 'local-v1/nano', from: `${location.origin}/nano/` }]
serviceWorker(createV1({ engine: webgpu({ models, device, log: () => {} }), keys: 'none', usage: indexedDbUsage() }))
