import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import process from 'node:process'
import type { Engine } from '../contract/index.js'
import { fallback, upstream, type WebGpu, webgpu } from '../engines/index.js'
import { idOf, NANO } from '../models/index.js'
import { keptCalibration } from './calibrate/kept.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { llamaCppEngine } from './llama-cpp.js'
import { note, paint } from './terminal.js'
import { webllmEngine } from './webllm.js'

export interface OpenedEngine {
  readonly engine: Engine
  /** Our own core, alone or in front of another `/v1`. */
  readonly own: WebGpu | undefined
  readonly models: string[]
}

/** What the options ask for, ready to be mounted. `models` begins with those that run here. `once`: for what one command asks. */
export async function openEngine(options: EngineOptions, once = false): Promise<OpenedEngine> {
  const { engine: name = 'webgpu' } = options
  const own = name === 'webgpu' ? await localEngine(options, once) : undefined
  const here = own ?? (name === 'webllm' ? await webllmEngine(options) : llamaCppEngine(options))
  const engine = options.upstream === undefined ? here : fallback(here, await upstreamEngine(options.upstream))
  return { engine, own, models: engine.models.map(({ id }) => id) }
}

async function localEngine(options: EngineOptions, once: boolean): Promise<WebGpu> {
  const { model = [NANO], device, cache, cacheType, draft, revectorize, lib, webllm } = options
  if (lib !== undefined || webllm !== undefined) throw new Fault('--lib and --webllm only work with --engine webllm.')
  try {
    return webgpu({
      models: model.map((name, i) => {
        const id = idOf(name)
        const calibration = keptCalibration(id, cache)
        return {
          id,
          from: fromOf(name),
          ...(cacheType && { cacheType }),
          ...(draft !== undefined && i === 0 && { draft: fromOf(draft) }),
          ...(calibration && { calibration }),
        }
      }),
      device,
      cache,
      // The embedded model has answered before a worker has read its code. Files of strangers may compute without end.
      worker: !once || draft !== undefined || model.some((name) => name !== NANO),
      ...(revectorize !== undefined && { revectorize }),
      log: options.log ?? ((message) => note(paint('dim', message))),
    })
  } catch (error) {
    // A name that is no id, address or folder.
    throw error instanceof TypeError ? new Fault(error.message) : error
  }
}

/** Where the files of a model are: those of the embedded one at no hub, where its name could be anybody's. */
export const fromOf = (name: string): string => (name === NANO ? nanoFolder() : name)

/** Where the package of the embedded model is installed. */
export function nanoFolder(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve('local-v1-nano/package.json'))
  } catch {
    throw new Fault(`${NANO} is not installed: add the package local-v1-nano, or choose another model with --model.`)
  }
}

/** Offers what the other service lists; a name without a namespace gets one. */
export async function upstreamEngine(baseURL: string): Promise<Engine> {
  const apiKey = process.env.UPSTREAM_API_KEY
  const url = `${baseURL.replace(/\/+$/, '')}/models`
  const headers = apiKey ? { authorization: `Bearer ${apiKey}` } : undefined
  const response = await fetch(url, { headers }).catch((error: Error) => {
    // Node says `fetch failed`, and why in its cause.
    const why = error.cause instanceof Error ? error.cause.message : error.message
    throw new Fault(`${url} cannot be reached: ${why}`, 1)
  })
  if (!response.ok) throw new Fault(`${url} answered ${response.status}; a key goes into UPSTREAM_API_KEY.`, 1)
  const { data = [] } = (await response.json()) as { data?: readonly { id: string }[] }
  const models = data.map(({ id }) => [id.includes('/') ? id : `upstream/${id}`, id])
  return upstream({ baseURL, models: Object.fromEntries(models), ...(apiKey && { apiKey }) })
}
