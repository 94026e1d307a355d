import { fileURLToPath } from 'node:url'
import { buildPlayground } from '../../apps/playground/build/build.js'

const out = fileURLToPath(new URL('../../test-output/playground/', import.meta.url))
let built: Promise<string> | undefined

/** The folder of the playground as it is published, built once for all files of tests that a process runs. */
export function builtSite(): Promise<string> {
  built ??= buildPlayground({ out: `${out}site-${process.env.VITEST_POOL_ID}` })
  return built
}
