import type { ServerResponse } from 'node:http'
import type { Connect, Plugin, ResolvedConfig } from 'vite'
import { contentType, isolating, type OwnFile } from './files.js'
import { NanoFiles } from './nano-files.js'
import { buildWorker } from './worker.js'

export interface LocalV1Options {
  /**
   * The source file of the service worker, relative to Vite's root: a module that calls `serviceWorker(v1)`.
   * @default a generated one that serves `models`
   */
  worker?: string
  /**
   * Without `worker`: the models to serve, `local-v1/nano` or ids of Hugging Face.
   * @default ['local-v1/nano']
   */
  models?: readonly string[]
  /**
   * The name of the built script, for `install({ script: '/v1.js' })`.
   * @default 'v1.js'
   */
  script?: string
  /**
   * Whether the servers of `vite` and `vite preview` isolate pages (COOP and COEP), so that the CPU device can use threads.
   * Then everything that pages load from other origins must allow it. On your own host, send `ISOLATION_HEADERS`.
   * @default true
   */
  isolate?: boolean
}

export { ISOLATION_HEADERS } from './files.js'

/**
 * A Vite plugin for `/v1` in a page: builds the service worker as one file, also in development, and serves the files of
 * `local-v1-nano`, so that `import { nano } from 'local-v1-nano'` works in a page as in Node.
 *
 * ```ts
 * export default defineConfig({ plugins: [localV1({ worker: 'v1.ts' })] })
 * ```
 */
export function localV1(options: LocalV1Options = {}): Plugin {
  const { worker, models, script = 'v1.js', isolate = true, ...others } = options
  for (const name of Object.keys(others)) {
    const there = 'the options are worker, models, script, isolate.'
    throw new TypeError(`local-v1/vite: '${name}' is not an option; ${there}`)
  }
  if (!/^[\w-][\w./-]*\.m?js$/.test(script) || script.includes('..')) {
    throw new TypeError(`local-v1/vite: 'script' must be the path of a script in the output folder, like 'v1.js'.`)
  }
  if (worker !== undefined && models !== undefined) {
    throw new TypeError("local-v1/vite: give 'worker', which names its own models, or 'models'.")
  }
  const source = worker ?? { models: models ?? ['local-v1/nano'] }
  let config: ResolvedConfig
  let nano: NanoFiles
  return {
    name: 'local-v1',
    enforce: 'pre',
    // Before Vite looks for dependencies: neither knows what to do with the other's workers and files.
    config: () => ({ optimizeDeps: { exclude: ['local-v1', 'local-v1-nano'] } }),
    configResolved(resolved) {
      config = resolved
      nano = new NanoFiles(resolved)
    },
    resolveId(id) {
      return this.environment.config.consumer === 'client' ? nano.resolve(id) : undefined
    },
    load: (id) => nano.load(id),
    configureServer(server) {
      if (isolate) server.middlewares.use(isolating)
      let built: ReturnType<typeof buildWorker> | undefined
      server.watcher.on('all', async (_, path) => {
        const { sources } = (await built?.catch(() => undefined)) ?? {}
        // What failed is tried again whatever changed.
        if (!sources || sources.has(path.replaceAll('\\', '/'))) built = undefined
      })
      server.middlewares.use(
        serving(config.base, async (path) => {
          if (path === script || path.startsWith('assets/')) {
            built ??= buildWorker(config, script, source, nano)
            const { files } = await built
            return files.get(path)
          }
          return nano.file(path)
        }),
      )
    },
    configurePreviewServer(server) {
      if (isolate) server.middlewares.use(isolating)
    },
    async generateBundle() {
      if (this.environment.config.consumer !== 'client') return
      const { files } = await buildWorker(config, script, source, nano)
      for (const [fileName, { bytes }] of files) this.emitFile({ type: 'asset', fileName, source: bytes })
      if (!nano.wanted) return
      for (const [fileName, { bytes }] of await nano.all()) this.emitFile({ type: 'asset', fileName, source: bytes })
    },
  }
}

/** A middleware for files of ours under the base; whatever is none goes on. */
function serving(base: string, find: (path: string) => Promise<OwnFile | undefined>): Connect.NextHandleFunction {
  const prefix = base.startsWith('/') ? base : '/'
  return async (request, response: ServerResponse, next) => {
    const path = (request.url ?? '').replace(/[?#].*$/, '')
    if (!path.startsWith(prefix)) return next()
    try {
      const file = await find(path.slice(prefix.length))
      if (!file) return next()
      response.setHeader('content-type', contentType(path))
      response.setHeader('cache-control', file.forever ? 'max-age=31536000, immutable' : 'no-cache')
      response.end(file.bytes)
    } catch (error) {
      next(error)
    }
  }
}
