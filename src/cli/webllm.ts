import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ModelRecord, type WebLlm, webllm } from '../engines/index.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { note, paint } from './terminal.js'

/** WebLLM in its worker, for models of its list or for one with a compiled library of its own. */
export async function webllmEngine({
  model,
  device,
  cache,
  cacheType,
  revectorize,
  draft,
  lib,
  webllm: module,
}: EngineOptions): Promise<WebLlm> {
  if (model === undefined) {
    throw new Fault('Name a WebLLM model with --model, such as mlc-ai/Qwen3-0.6B-q4f16_1-MLC.')
  }
  if (device === 'cpu') throw new Fault('WebLLM runs on a GPU: --device cpu only works with --engine webgpu.')
  if (cacheType !== undefined) throw new Fault('--cache-type only works with --engine webgpu.')
  if (revectorize) throw new Fault('--revectorize only works with --engine webgpu.')
  if (draft !== undefined) throw new Fault('--draft only works with --engine webgpu or llama-cpp.')
  if (lib !== undefined && model.length > 1) throw new Fault('A compiled library (--lib) needs exactly one --model.')
  const engine = webllm({
    models: lib === undefined ? model : [await ownRecord(model[0]!, lib)],
    ...(cache !== undefined && { cache }),
    ...(module !== undefined && { library: /^[a-z]+:/i.test(module) ? module : await fileAddress(module) }),
    log: (message) => note(paint('dim', message)),
  })
  await engine.ready
  return engine
}

async function ownRecord(model: string, lib: string): Promise<ModelRecord> {
  const id = /^[\w.-]+\/[\w.-]+$/.test(model)
  return {
    // An id is one at Hugging Face, as everywhere.
    model: id ? `https://huggingface.co/${model}` : await address(model),
    model_id: id ? model : (model.split(/[/\\]/).filter(Boolean).at(-1) ?? 'model'),
    model_lib: await address(lib),
  }
}

const address = async (place: string) => (/^https?:\/\//i.test(place) ? place : fileAddress(place))

async function fileAddress(path: string): Promise<string> {
  await stat(path).catch(() => {
    throw new Fault(`${path} does not exist.`)
  })
  return pathToFileURL(resolve(path)).href
}
