import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { LlamaCppModule } from './options.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Node-llama-cpp, which is too large to be installed for everybody: where `LOCAL_V1_PEERS` has it, or this repository. */
function find(): string | undefined {
  for (const folder of [process.env.LOCAL_V1_PEERS, ROOT]) {
    if (folder === undefined) continue
    try {
      return pathToFileURL(createRequire(join(resolve(folder), 'here.js')).resolve('node-llama-cpp')).href
    } catch {
      // Nor there.
    }
  }
  return undefined
}

const found = find()
export const hasPeer = found !== undefined
/** For the names of tests that are skipped. */
export const lack = hasPeer ? '' : ' (skipped: LOCAL_V1_PEERS names no folder with node-llama-cpp)'

export const loadPeer = () => import(found!) as Promise<LlamaCppModule>
