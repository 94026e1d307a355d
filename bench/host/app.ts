/**
 * An application of somebody's with `/v1` mounted, default options, in a process of its own: Express in Node, what the
 * runtime itself has in Deno and Bun. Says its port on a line of its own and what it has spent when it is asked; it ends
 * with its standard input.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { createInterface } from 'node:readline'

export type Runtime = 'node' | 'deno' | 'bun'

export interface AppOptions {
  readonly model: string
  readonly device: 'cpu' | 'webgpu'
  readonly worker: boolean
}

export interface Opened {
  readonly port: number
  /** Of the device. */
  readonly name: string
  readonly worker?: boolean
}

/** Of the whole process. */
export interface Spent {
  readonly processorMs: number
  readonly resident: number
}

type Handler = (request: Request) => Response | Promise<Response>
interface Runtimes {
  Deno?: {
    serve(options: { hostname: string; port: 0; onListen(): void }, handler: Handler): { addr: { port: number } }
  }
  Bun?: { serve(options: { hostname: string; port: 0; idleTimeout: 0; fetch: Handler }): { port: number } }
}

/** As users have it: what was built. */
const built = (name: string) => import(new URL(`../../dist/${name}.js`, import.meta.url).href)

const { model, device, worker } = JSON.parse(process.argv[2]!) as AppOptions
const [{ createV1 }, { webgpu }] = await Promise.all(['index', 'webgpu'].map(built))
const engine = webgpu({ models: [{ id: 'bench/model', from: model }], device, worker, log: () => {} })
const v1 = createV1({ engine, keys: 'none', log: () => {} })
await v1.load('bench/model')

async function overExpress(): Promise<number> {
  const [{ default: expressApp }, { createServer }, { express }] = await Promise.all([
    import('express'),
    import('node:http'),
    built('express'),
  ])
  const app = expressApp()
  app.get('/own', (_, response) => void response.json({ fine: true }))
  app.use(express(v1))
  const server = createServer(app).listen(0, '127.0.0.1')
  // Longer than any pause of the benchmark.
  server.keepAliveTimeout = 600_000
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const handler: Handler = (request) =>
  new URL(request.url).pathname === '/own' ? Response.json({ fine: true }) : v1.fetch(request)

async function serve(): Promise<number> {
  const { Deno, Bun } = globalThis as Runtimes
  const hostname = '127.0.0.1'
  if (Deno) return Deno.serve({ hostname, port: 0, onListen: () => {} }, handler).addr.port
  if (Bun) return Bun.serve({ hostname, port: 0, idleTimeout: 0, fetch: handler }).port
  return overExpress()
}

const tell = (message: Opened | Spent) => console.log(JSON.stringify(message))
const port = await serve()
const { metadata } = v1.models?.[0] ?? engine.models[0]
createInterface({ input: process.stdin })
  .on('line', () => {
    const { user, system } = process.cpuUsage()
    tell({ processorMs: (user + system) / 1000, resident: process.memoryUsage().rss })
  })
  // Whoever has started it may end it at any moment.
  .on('close', () => process.exit())
tell({ port, name: metadata?.device_name, worker: metadata?.worker })
