/** The benchmark as a page: static files, to be served from anywhere. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { nanoFolder } from '../../src/cli/engine.js'
import { version } from '../version.js'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** By their paths from the root. */
export async function siteFiles(): Promise<Record<string, Uint8Array>> {
  const { outputFiles } = await build({
    entryPoints: ['page.ts', 'worker.ts', 'isolating-worker.ts'].map(here),
    outdir: '/',
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    external: ['node:*', 'webgpu'],
    define: { __VERSION__: JSON.stringify(version) },
    logLevel: 'error',
  })
  const files: Record<string, Uint8Array> = Object.fromEntries(
    outputFiles.map(({ path, contents }) => [path, contents]),
  )
  files['/index.html'] = await readFile(here('index.html'))
  const nano = nanoFolder()
  for (const name of await readdir(nano)) {
    if (/\.(json|bin)$/.test(name)) files[`/nano/${name}`] = await readFile(join(nano, name))
  }
  return files
}

export async function writeSite(folder: string): Promise<void> {
  for (const [path, bytes] of Object.entries(await siteFiles())) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, bytes)
  }
}
