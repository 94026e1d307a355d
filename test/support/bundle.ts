import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { getOrMake } from '../../src/platform/maps.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

export interface BundleOptions {
  /** Packages that stay imports. `node:*` always does. */
  external?: readonly string[]
  /** @default 'esm' */
  format?: 'esm' | 'iife'
}

/** By what was asked for: once for all files of tests that a process runs. */
const bundles = new Map<string, Promise<string>>()

/**
 * One JavaScript file from a TypeScript entry (a path from the repository's root), for runtimes that do not read our
 * sources: browsers, and Deno, which asks for imports that end in `.ts`. Everything else stays as it is. An example's
 * `local-v1/...` is our source, by the paths of examples/tsconfig.json.
 */
export function bundle(entry: string, options: BundleOptions = {}): Promise<string> {
  return getOrMake(bundles, JSON.stringify([entry, options]), () => bundled(entry, options))
}

async function bundled(entry: string, options: BundleOptions): Promise<string> {
  const result = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: options.format ?? 'esm',
    // Not 'node': a package that reaches for Node without asking must fail here, as it would for a user.
    platform: 'browser',
    target: 'es2022',
    external: ['node:*', 'webgpu', ...(options.external ?? [])],
    // Each page and worker reads all of it. Names stay, for who reads what went wrong.
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'error',
  })
  return result.outputFiles[0]!.text
}
