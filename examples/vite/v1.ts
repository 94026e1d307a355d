// The application's service worker, and, started by install() in main.ts, the worker that runs the model.
import { createV1, indexedDbUsage } from 'local-v1'
import { webgpu } from 'local-v1/core'
import { serviceWorker } from 'local-v1/service-worker'
import { nano } from 'local-v1-nano'

// Only pages of this origin can send requests, so no key is needed.
serviceWorker(createV1({ engine: webgpu({ models: [nano] }), keys: 'none', usage: indexedDbUsage() }))
