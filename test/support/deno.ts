import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BundleOptions, bundle } from './bundle.js'
import { type Running, start } from './spawn.js'
import { swiftshaderEnv } from './swiftshader.js'

const require = createRequire(import.meta.url)

export interface DenoOptions extends BundleOptions {
  /** Arguments of the program, in `Deno.args`. */
  args?: readonly string[]
  env?: Record<string, string>
  /** What it may do. @default ['--allow-all'] */
  permissions?: readonly string[]
  /** SwiftShader as `navigator.gpu`. @default false */
  gpu?: boolean
}

/** Runs a TypeScript file (a path from the repository's root) in a real Deno, bundled into one file first. */
export async function startDeno(entry: string, options: DenoOptions = {}): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-deno-'))
  const file = join(folder, 'main.mjs')
  await writeFile(file, await bundle(entry, options))
  const permissions = options.permissions ?? ['--allow-all']
  const running = start(
    denoPath(),
    ['run', '--no-remote', '--no-lock', '--no-config', '--no-prompt', ...permissions, file, ...(options.args ?? [])],
    { NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1', ...(options.gpu ? await swiftshaderEnv() : {}), ...options.env },
  )
  running.exit.finally(() => rm(folder, { recursive: true, force: true }))
  return running
}

/** The program that the npm package `deno` brings, made ready if its install script did not run. */
export function denoPath(): string {
  return (require('deno/install_api.cjs') as { runInstall(): string }).runInstall()
}
