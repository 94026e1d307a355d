/** Applications as each bundler's users write them: what is built, how, and where it lies afterwards. */

const MODEL = "{ id: 'local-v1/nano', from: location.origin + '/nano/' }"

/** The service worker, which is also the worker that runs the engine. */
const V1 = `
import { createV1, indexedDbUsage } from 'local-v1'
import { serviceWorker } from 'local-v1/service-worker'
import { webgpu } from 'local-v1/webgpu'
const engine = webgpu({ models: [${MODEL}], device: 'cpu', threads: 3 })
serviceWorker(createV1({ engine, keys: 'none', usage: indexedDbUsage() }))
`

/** Leaves in `outcome` what the page saw: the document, and how the engine computes. */
const ask = (script: string) => `
import { install } from 'local-v1/service-worker'
globalThis.outcome = (async () => {
  const device = await install({ script: ${script} })
  const schema = { type: 'object', properties: { stars: { type: 'integer' } }, required: ['stars'], additionalProperties: false }
  const response = await device.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'local-v1/nano',
      messages: [{ role: 'user', content: 'I give this kettle 4 of 5 stars.' }],
      response_format: { type: 'json_schema', json_schema: { name: 'review', strict: true, schema } },
    }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(JSON.stringify(answer))
  const { data } = await (await device.fetch('/v1/models')).json()
  return { document: JSON.parse(answer.choices[0].message.content), device: data[0].metadata.device_name }
})()
globalThis.outcome.catch(() => {})
`
const PAGE = ask("'/v1.js'")
const HTML = '<!doctype html><meta charset="utf-8"><title>page</title><script type="module" src="/page.js"></script>'

/** In Node: prints the same. */
const SERVER = `
import { createV1 } from 'local-v1'
import { webgpu } from 'local-v1/webgpu'
const engine = webgpu({ models: [{ id: 'local-v1/nano', from: process.env.NANO }], device: 'cpu', threads: 3, log: () => {} })
const v1 = createV1({ engine, keys: 'none' })
await v1.load('local-v1/nano')
const { data } = await (await v1.fetch(new Request('http://localhost/v1/models'))).json()
console.log(data[0].metadata.device_name)
await v1.close()
`

export interface Fixture {
  readonly name: string
  /** The package whose version is told. */
  readonly package: string
  readonly files: Readonly<Record<string, string>>
  /** Run one after the other. */
  readonly commands: readonly string[]
  readonly outcome:
    | { readonly page: string }
    | { readonly server: string }
    /** A program that serves on PORT. */
    | { readonly serves: string }
}

const webpackLike = (target: string) => `
const common = { mode: 'production', devtool: false, performance: { hints: false }, experiments: {} }
module.exports = [
  { ...common, entry: { page: './page.js' }, output: { filename: '[name].js' } },
  { ...common, entry: { v1: './v1.js' }, target: 'webworker', output: { filename: '[name].js' } },
].slice(${target})
`
const PAGE_AND_WORKER = { 'page.js': PAGE, 'v1.js': V1, 'public/index.html': HTML }

const nodeConfig = `
module.exports = {
  mode: 'production', target: 'node20', devtool: false, entry: { server: './server.js' },
  output: { filename: '[name].mjs', module: true, chunkFormat: 'module', library: { type: 'module' } },
  experiments: { outputModule: true },
}
`

const rollupConfig = (input: string, extra: string) => `
import commonjs from '@rollup/plugin-commonjs'
import json from '@rollup/plugin-json'
import resolve from '@rollup/plugin-node-resolve'
export default ${input}.map((input) => ({ input, output: { dir: 'dist' }, plugins: [resolve(${extra}), commonjs(), json()] }))
`

const viteInput = `
export default {
  build: {
    rolldownOptions: {
      input: { page: 'index.html', v1: 'v1.js' },
      output: { entryFileNames: '[name].js' },
    },
  },
}
`
const viteTwice = `
export default ({ mode }) => mode === 'v1'
  ? { build: { emptyOutDir: false, rolldownOptions: { input: 'v1.js', output: { entryFileNames: 'v1.js', codeSplitting: false } } } }
  : {}
`
const vitePlugin = (options: string) => `
import { localV1 } from 'local-v1/vite'
export default { plugins: [localV1(${options})] }
`
const VITE = { 'page.js': PAGE, 'v1.js': V1, 'index.html': HTML }

const NEXT = {
  'app/layout.tsx': `import type { ReactNode } from 'react'
export default ({ children }: { children: ReactNode }) => <html lang="en"><body>{children}</body></html>`,
  'app/page.js': "import { Ask } from './ask'\nexport default () => <Ask />",
  'app/ask.js': `'use client'\nimport { useEffect } from 'react'\n${PAGE.replace('import {', 'import {')
    .replace('globalThis.outcome = (async () => {', 'const begin = async () => {')
    .replace('})()\nglobalThis.outcome.catch(() => {})', '}')}
export function Ask() {
  useEffect(() => {
    globalThis.outcome = begin()
    globalThis.outcome.catch(() => {})
  }, [])
  return <p>asking</p>
}`,
  // In TypeScript, whose types `next build` checks.
  'app/api/v1/[...path]/route.ts': `
import { createV1 } from 'local-v1'
import { next } from 'local-v1/next'
import { webgpu } from 'local-v1/webgpu'
import { nano } from 'local-v1-nano'
const engine = webgpu({ models: [nano], device: 'cpu', threads: 3, log: () => {} })
export const { GET, POST, DELETE, OPTIONS } = next('/api/v1', (basePath) => createV1({ engine, keys: 'none', basePath }))
`,
  // Nothing has to be built for it: the package has a file for pages without a bundler.
  'public/v1.js': V1.replaceAll(/'local-v1[^']*'(?=\n)/g, "'./local-v1.js'"),
  'next.config.ts': `
import { withLocalV1 } from 'local-v1/next'
export default withLocalV1({ reactStrictMode: true })
`,
}
const COPY = 'cp node_modules/local-v1/dist/browser.js public/local-v1.js'

export const fixtures: readonly Fixture[] = [
  {
    name: 'no bundler',
    package: 'local-v1',
    files: {
      'public/index.html': HTML,
      'public/page.js': PAGE.replaceAll(/'local-v1[^']*'(?=\n)/g, "'./local-v1.js'"),
      'public/v1.js': NEXT['public/v1.js'],
    },
    commands: [COPY],
    outcome: { page: 'public' },
  },
  {
    name: 'esbuild',
    package: 'esbuild',
    files: PAGE_AND_WORKER,
    commands: ['npx esbuild v1.js page.js --bundle --format=esm --outdir=public --log-level=warning'],
    outcome: { page: 'public' },
  },
  {
    name: 'esbuild, for Node',
    package: 'esbuild',
    files: { 'server.js': SERVER },
    commands: [
      'npx esbuild server.js --bundle --format=esm --platform=node --outfile=dist/server.mjs --log-level=warning',
    ],
    outcome: { server: 'dist/server.mjs' },
  },
  {
    name: 'Vite, page and worker built separately',
    package: 'vite',
    files: { ...VITE, 'vite.config.js': viteTwice },
    commands: ['npx vite build --logLevel warn', 'npx vite build --mode v1 --logLevel warn'],
    outcome: { page: 'dist' },
  },
  {
    name: 'Vite, the worker as a second input',
    package: 'vite',
    files: { ...VITE, 'vite.config.js': viteInput },
    commands: ['npx vite build --logLevel warn'],
    outcome: { page: 'dist' },
  },
  {
    name: 'Vite with local-v1/vite',
    package: 'vite',
    files: {
      ...VITE,
      'v1.js': V1.replace(MODEL, 'nano').replace('import {', "import { nano } from 'local-v1-nano'\nimport {"),
      'vite.config.js': vitePlugin("{ worker: 'v1.js' }"),
    },
    commands: ['npx vite build --logLevel warn'],
    outcome: { page: 'dist' },
  },
  {
    name: 'Vite with local-v1/vite, generated worker',
    package: 'vite',
    files: {
      ...Object.fromEntries(Object.entries(VITE).filter(([name]) => name !== 'v1.js')),
      'vite.config.js': vitePlugin(''),
    },
    commands: ['npx vite build --logLevel warn'],
    outcome: { page: 'dist' },
  },
  {
    name: 'Rollup',
    package: 'rollup',
    files: { ...PAGE_AND_WORKER, 'rollup.config.mjs': rollupConfig("['page.js', 'v1.js']", '{ browser: true }') },
    commands: ['npx rollup -c --silent', 'cp public/index.html dist/'],
    outcome: { page: 'dist' },
  },
  {
    name: 'webpack 5',
    package: 'webpack',
    files: { ...PAGE_AND_WORKER, 'webpack.config.cjs': webpackLike('0') },
    commands: ['npx webpack -c webpack.config.cjs', 'cp public/index.html dist/'],
    outcome: { page: 'dist' },
  },
  {
    name: 'webpack 5, for Node',
    package: 'webpack',
    files: { 'server.js': SERVER, 'webpack.config.cjs': nodeConfig },
    commands: ['npx webpack -c webpack.config.cjs'],
    outcome: { server: 'dist/server.mjs' },
  },
  {
    name: 'Rspack',
    package: '@rspack/core',
    files: { ...PAGE_AND_WORKER, 'rspack.config.cjs': webpackLike('0') },
    commands: ['npx rspack build -c rspack.config.cjs', 'cp public/index.html dist/'],
    outcome: { page: 'dist' },
  },
  {
    name: 'Parcel',
    package: 'parcel',
    files: {
      'page.js': PAGE,
      'v1.js': V1,
      'index.html': HTML.replace('/page.js', './page.js'),
      // Parcel reads a package's exports where it is told to: at the root of the project, which a lock file marks.
      'package-lock.json': '{}',
      'package.json': JSON.stringify({ private: true, '@parcel/resolver-default': { packageExports: true } }),
    },
    commands: ['npx parcel build index.html v1.js --no-cache --no-source-maps --no-scope-hoist'],
    outcome: { page: 'dist' },
  },
  {
    name: 'Workbox, with a service worker that precaches too',
    package: 'workbox-build',
    files: {
      'page.js': ask("'/sw.js', worker: '/v1.js'"),
      'v1.js': V1,
      'sw.js': `import { precacheAndRoute } from 'workbox-precaching'\n${V1}\nprecacheAndRoute(self.__WB_MANIFEST)\n`,
      'public/index.html': HTML,
      'inject.mjs': `
import { injectManifest } from 'workbox-build'
const { count, warnings } = await injectManifest({
  swSrc: 'build/sw.js', swDest: 'public/sw.js', globDirectory: 'public', globPatterns: ['index.html', 'page.js'],
})
if (count !== 2 || warnings.length > 0) throw new Error([count, ...warnings].join(' '))
`,
    },
    commands: [
      'npx esbuild v1.js page.js --bundle --format=esm --outdir=public --log-level=warning',
      'npx esbuild sw.js --bundle --format=esm --outdir=build --log-level=warning',
      'node inject.mjs',
    ],
    outcome: { page: 'public' },
  },
  {
    name: 'Bun',
    package: 'bun',
    files: PAGE_AND_WORKER,
    commands: ['npx bun build v1.js page.js --outdir public --target browser'],
    outcome: { page: 'public' },
  },
  {
    name: 'Bun, for Node',
    package: 'bun',
    files: { 'server.js': SERVER },
    commands: ['npx bun build server.js --outfile dist/server.mjs --target node'],
    outcome: { server: 'dist/server.mjs' },
  },
  {
    name: 'Next (Turbopack): a page and a route handler',
    package: 'next',
    files: NEXT,
    commands: [COPY, 'npx next build --turbopack'],
    outcome: { serves: 'npx next start -p PORT' },
  },
  {
    name: 'Next (webpack): a page and a route handler',
    package: 'next',
    files: NEXT,
    commands: [COPY, 'npx next build --webpack'],
    outcome: { serves: 'npx next start -p PORT' },
  },
]
