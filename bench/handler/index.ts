/**
 * What the handler costs, side by side in one run: the engine called directly, a bare Hono route, and the service.
 *
 *     npm run bench:handler
 *
 * All of it is bundled first, as the package is built: what runs TypeScript as it stands keeps a name for each closure, which is
 * made anew with every request.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const folder = await mkdtemp(join(tmpdir(), 'local-v1-handler-'))
const outfile = join(folder, 'measure.mjs')
try {
  await build({
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'es2022', outfile, minifySyntax: true },
    entryPoints: [fileURLToPath(new URL('measure.ts', import.meta.url))],
    define: { __VERSION__: '"bench"' },
    logLevel: 'warning',
  })
  await import(pathToFileURL(outfile).href)
} finally {
  await rm(folder, { recursive: true })
}
