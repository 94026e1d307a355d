// The application's service worker, and, started by install() in page.ts, the worker that runs the model.
import { createV1, indexedDbUsage } from 'local-v1'
import { webgpu } from 'local-v1/core'
import { serviceWorker } from 'local-v1/service-worker'
import { keepOffline } from './offline.js'

// Served with the application. Any other model: its id at Hugging Face, 'mlc-ai/Qwen3-0.6B-q4f16_1-MLC'.
const nano = { id: 'local-v1/nano', from: `${location.origin}/models/nano/` }

// Only pages of this origin can send requests, so no key is needed.
serviceWorker(createV1({ engine: webgpu({ models: [nano] }), keys: 'none', usage: indexedDbUsage() }))

// The engine stores models by itself; this stores the application's own files.
keepOffline('app-1', ['/', '/page.js', '/v1.js'])
