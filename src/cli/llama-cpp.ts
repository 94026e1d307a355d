import { createRequire } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import type { Engine } from '../contract/index.js'
import { type LlamaCppModule, llamaCpp } from '../engines/index.js'
import { idOf } from '../models/index.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { note, paint } from './terminal.js'

/** Llama.cpp's own code, for models in GGUF files. */
export function llamaCppEngine(options: EngineOptions): Engine {
  const { model, device, cache, cacheType, revectorize, draft, lib, webllm, log } = options
  if (model === undefined) {
    throw new Fault('llama.cpp needs a GGUF file: name one with --model, such as ./model.gguf or hf:owner/repo:Q4_K_M.')
  }
  if (device === 'webgpu') {
    throw new Fault(
      'llama.cpp has its own back ends: --device webgpu only works with --engine webgpu. Use auto or cpu.',
    )
  }
  if (cacheType !== undefined) {
    throw new Fault('llama.cpp keeps keys and values in f16: --cache-type only works with --engine webgpu.')
  }
  if (revectorize) throw new Fault('--revectorize only works with --engine webgpu.')
  if (lib !== undefined || webllm !== undefined) throw new Fault('--lib and --webllm only work with --engine webllm.')
  try {
    return llamaCpp({
      models: model.map((from, i) => ({ id: idOf(from), from, ...(draft !== undefined && i === 0 && { draft }) })),
      device,
      loader,
      ...(cache !== undefined && { cache }),
      log: log ?? ((message) => note(paint('dim', message))),
    })
  } catch (error) {
    // A name that is no id, address or file.
    throw error instanceof TypeError ? new Fault(error.message) : error
  }
}

const NAME = 'node-llama-cpp'

/** Beside this program, or in the folder in which it was started: `npx` has it in one of its own. */
async function loader(): Promise<LlamaCppModule> {
  try {
    return (await import(NAME)) as LlamaCppModule
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const here = createRequire(join(process.cwd(), 'here.js'))
    let found: string
    try {
      found = here.resolve(NAME)
    } catch {
      throw error
    }
    return (await import(pathToFileURL(found).href)) as LlamaCppModule
  }
}
