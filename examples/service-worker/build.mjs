// The official client in a page, answered on the device by the page's own service worker; offline too.
//   local-v1 as docs/start/service-worker.md installs it, and: npm install openai esbuild
//   node build.mjs --serve
import { cp } from 'node:fs/promises'
import { context } from 'esbuild'

const [out = 'dist'] = process.argv.slice(2).filter((argument) => argument !== '--serve')
const here = new URL('./', import.meta.url)

const application = await context({
  absWorkingDir: here.pathname,
  entryPoints: ['page.ts', 'v1.ts'],
  bundle: true,
  // One file each: a service worker cannot import() what it needs later.
  splitting: false,
  format: 'esm',
  target: 'es2022',
  minify: true,
  outdir: out,
  // The engine imports these only in Node.
  external: ['node:*'],
})
await application.rebuild()

const to = new URL(`${out}/`, here)
await cp(new URL('index.html', here), new URL('index.html', to))
await cp(new URL('./', import.meta.resolve('local-v1-nano')), new URL('models/nano/', to), {
  recursive: true,
  filter: (path) => !/\/(recipe|eval|node_modules)$/.test(path),
})

if (process.argv.includes('--serve')) {
  const { port } = await application.serve({ servedir: to.pathname, host: '127.0.0.1', port: 8080 })
  console.log(`http://localhost:${port}`)
} else await application.dispose()
