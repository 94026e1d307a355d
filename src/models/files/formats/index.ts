/** The formats that can be read, in the order in which they are looked for. */
import { asBroken, broken } from '../failure.js'
import type { RepositoryFiles } from '../files.js'
import type { FoundModel, RepositoryFormat } from './format.js'
import { gguf } from './gguf/index.js'
import { gptOssFormat } from './gpt-oss.js'
import { laya } from './laya.js'
import { mlc } from './mlc.js'
import { mlx } from './mlx.js'
import { safetensors } from './safetensors.js'

const FORMATS: readonly RepositoryFormat[] = [mlc, mlx, gptOssFormat, safetensors, laya, gguf]

export async function detect(files: RepositoryFiles, signal: AbortSignal): Promise<FoundModel> {
  // A model in one file is not looked for in others.
  for (const format of files.file === undefined ? FORMATS : [gguf]) {
    const found = await format.detect(files, signal).catch((error: unknown) => {
      signal.throwIfAborted()
      throw asBroken(files.place, error)
    })
    if (found) return found
  }
  const marks = FORMATS.map(({ name, mark }) => `${mark} (${name})`)
  const advice = 'Of a repository of GGUF files, name one too: owner/name:Q4_K_M.'
  throw broken(files.place, `it has neither ${marks.join(' nor ')}. ${advice}`)
}
