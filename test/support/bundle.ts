import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))

export interface BundleOptions {
  /** Packages that stay imports. `node:*` always does. */
  external?: readonly string[]
  /** @default 'esm' */
  format?: 'esm' | 'iife'
}

/**
 * One JavaScript file from a TypeScript entry (a path from the repository's root), for runtimes that do not read our
 * sources: browsers, and Deno, which asks for imports that end in `.ts`. Everything else stays as it is. An example's
 * `local-v1/...` is our source, by the paths of examples/tsconfig.json.
 */
export async function bundle(entry: string, options: BundleOptions = {}): Promise<string> {
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
    sourcemap: 'inline',
    // A private session of Chromium stores no script of a service worker over 6.25 MiB.
    sourcesContent: false,
    logLevel: 'error',
  })
  return result.outputFiles[0]!.text
}
