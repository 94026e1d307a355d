/** An application of somebody's with `/v1` mounted, default options, in a process of its own: says its port, then lives on. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import expressApp from 'express'

export interface AppOptions {
  readonly model: string
  readonly device: 'cpu' | 'webgpu'
  readonly worker: boolean
}

/** Of the whole process. */
export interface Spent {
  readonly processorMs: number
  readonly resident: number
}

/** As users have it: what was built. */
const built = (name: string) => import(new URL(`../../dist/${name}.js`, import.meta.url).href)

const { model, device, worker } = JSON.parse(process.argv[2]!) as AppOptions
const [{ createV1 }, { webgpu }, { express }] = await Promise.all(['index', 'webgpu', 'express'].map(built))
const engine = webgpu({ models: [{ id: 'bench/model', from: model }], device, worker, log: () => {} })
const v1 = createV1({ engine, keys: 'none', log: () => {} })
await v1.load('bench/model')
const { metadata } = v1.models?.[0] ?? engine.models[0]
const app = expressApp()
app.get('/own', (_, response) => void response.json({ fine: true }))
app.use(express(v1))
const server = createServer(app).listen(0, '127.0.0.1')
// Longer than any pause of the benchmark.
server.keepAliveTimeout = 600_000
await once(server, 'listening')
// Whoever has started it may end it at any moment.
process.on('disconnect', () => process.exit())
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send!({ processorMs: (user + system) / 1000, resident: process.memoryUsage().rss } satisfies Spent)
})
process.send!({ port: (server.address() as AddressInfo).port, name: metadata?.device_name, worker: metadata?.worker })
