import { resolve } from 'node:path'
import type { Plugin, ResolvedConfig } from 'vite'
import type { OwnFile } from './files.js'
import type { NanoFiles } from './nano-files.js'

export type WorkerSource = string | { readonly models: readonly string[] }

const ENTRY = 'virtual:local-v1/worker'

export interface BuiltWorker {
  readonly files: ReadonlyMap<string, OwnFile>
  /** What it was made of. */
  readonly sources: ReadonlySet<string>
}

/** One file, in development too: a service worker cannot import what it needs later, and some browsers no modules. */
export async function buildWorker(
  config: ResolvedConfig,
  script: string,
  source: WorkerSource,
  nano: NanoFiles,
): Promise<BuiltWorker> {
  const { build, version } = await import('vite')
  const input = typeof source === 'string' ? resolve(config.root, source) : ENTRY
  const made: Plugin = {
    name: 'local-v1:worker',
    enforce: 'pre',
    resolveId: (id) => (id === ENTRY ? `\0${ENTRY}` : nano.resolve(id)),
    load: (id) => (id === `\0${ENTRY}` && typeof source !== 'string' ? sourceFor(source.models) : nano.load(id)),
  }
  const output = await build({
    configFile: false,
    root: config.root,
    base: config.base,
    mode: config.mode,
    logLevel: 'warn',
    publicDir: false,
    define: config.define ?? {},
    resolve: { alias: config.resolve.alias },
    plugins: [made],
    build: {
      write: false,
      target: config.build.target,
      minify: config.command === 'build' ? config.build.minify : false,
      chunkSizeWarningLimit: 4000,
      reportCompressedSize: false,
      // Vite 7 bundles with Rollup, and passes over options that it does not know.
      ...(version.startsWith('7.')
        ? { rollupOptions: { input, output: { entryFileNames: script, inlineDynamicImports: true } } }
        : { rolldownOptions: { input, output: { entryFileNames: script, codeSplitting: false } } }),
    },
  })
  const parts = (Array.isArray(output) ? output : [output]).flatMap((each) => ('output' in each ? each.output : []))
  const files = parts.map((part): [string, OwnFile] => [
    part.fileName,
    { bytes: part.type === 'chunk' ? part.code : part.source, forever: part.fileName !== script },
  ])
  const sources = parts.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
  return { files: new Map(files), sources: new Set(sources) }
}

function sourceFor(models: readonly string[]): string {
  const withNano = models.includes('local-v1/nano')
  const list = models.map((id) => (id === 'local-v1/nano' ? 'nano' : JSON.stringify(id)))
  return `
import { createV1, indexedDbUsage } from 'local-v1'
import { serviceWorker } from 'local-v1/service-worker'
import { webgpu } from 'local-v1/webgpu'
${withNano ? "import { nano } from 'local-v1-nano'" : ''}
serviceWorker(createV1({ engine: webgpu({ models: [${list.join(', ')}] }), keys: 'none', usage: indexedDbUsage() }))
`
}
