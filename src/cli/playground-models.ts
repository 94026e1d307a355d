import { freemem } from 'node:os'
import { V1Error } from '../contract/index.js'
import { type DevicePreference, type ModelOptions, openFitter, type WebGpu } from '../engines/index.js'
import { idOf, locationOf } from '../models/index.js'
import { CACHE_TYPES_LISTED, isCacheTypeChoice, isRecord } from '../platform/index.js'
import { News, newsStream, SSE_DONE, SSE_HEADERS, sseEvent, type V1 } from '../service/index.js'
import { type HereModel, modelsHere } from './models.js'

export interface PageModelOptions {
  readonly engine: WebGpu
  readonly v1: Pick<V1, 'load' | 'unload'>
  readonly device: DevicePreference
  readonly cache?: string
  /** The one that the page has; absent: none is asked for. */
  readonly key?: string
}

type Wanted = Pick<ModelOptions, 'contextLength' | 'cacheType' | 'quantize'> & { readonly model: string }

export const MODELS_PATH = '/playground/'
const MOST_BYTES = 4096

/**
 * What the page may do beside `/v1` for whoever started this server: see which models lie on the machine, ask whether
 * one would run, and add it. Other keys open `/v1` alone.
 */
export function pageModels({ engine, v1, device, cache, key }: PageModelOptions) {
  /** Models that stay on offer once they are loaded: how many pages wait for each. */
  const awaited = new Map<string, number>()

  async function look({ model, ...how }: Wanted): Promise<Response> {
    // What the system would have to take from others is not counted; it changes with every load.
    const fitter = await openFitter(device, freemem())
    try {
      const found = await fitter.fit({ ...how, id: idOf(model), from: model }, { cache })
      return Response.json({ ...found, from: model, device: fitter.device })
    } finally {
      fitter.close()
    }
  }

  function add({ model, ...how }: Wanted): Response {
    const id = idOf(model)
    const isNew = awaited.has(id) || !engine.models.some((known) => known.id === id)
    engine.offer({ ...how, id, from: model })
    if (isNew) awaited.set(id, (awaited.get(id) ?? 0) + 1)
    return progressOf(async (tell, signal) => {
      try {
        await v1.load(id, ({ bytesLoaded, bytesTotal }) => tell(bytesLoaded, bytesTotal), signal)
      } catch (error) {
        if (isNew && left(id)) await drop(id)
        throw error
      }
      if (isNew) left(id)
    })
  }

  /** Whether it was the last page that waited for the model. */
  function left(id: string): boolean {
    const others = awaited.get(id)! - 1
    if (others > 0) awaited.set(id, others)
    else awaited.delete(id)
    return others === 0
  }

  /** What cannot be loaded, or is wanted no more, is not offered. In one turn: who asks for it in the next begins anew. */
  async function drop(id: string): Promise<void> {
    await Promise.all([v1.unload(id), engine.withdraw(id)].map((each) => each.catch(() => {})))
  }

  return async (request: Request): Promise<Response> => {
    try {
      if (key !== undefined && request.headers.get('authorization') !== `Bearer ${key}`)
        throw new V1Error(403, 'Models are added with the link that local-v1 serve printed.', { code: 'forbidden' })
      const path = new URL(request.url).pathname.slice(MODELS_PATH.length)
      if (path === 'models' && request.method === 'GET') {
        const here: readonly HereModel[] = await modelsHere({ cache })
        // As much as models may take beside what is loaded.
        return Response.json({ here, free: freemem() })
      }
      if (path === 'models' && request.method === 'POST') return add(await wantedIn(request))
      if (path === 'look' && request.method === 'POST') return await look(await wantedIn(request))
      throw new V1Error(404, `There is no ${request.method} ${MODELS_PATH}${path}.`, { code: 'unknown_url' })
    } catch (error) {
      const shown = shownError(error)
      return Response.json(shown, { status: shown.status })
    }
  }
}

/** Names alone: a page has no business with the folders of the machine, nor with what other addresses hold. */
async function wantedIn(request: Request): Promise<Wanted> {
  const text = await request.text()
  let body: unknown
  try {
    if (text.length <= MOST_BYTES) body = JSON.parse(text)
  } catch {}
  if (!isRecord(body) || typeof body.model !== 'string') throw invalid("The body must be JSON with a 'model'.", 'model')
  const { model, contextLength, cacheType, quantize } = body
  const whole = (value: unknown): value is number => Number.isInteger(value) && (value as number) > 0
  if (contextLength !== undefined && !whole(contextLength))
    throw invalid("'contextLength' must be a positive whole number.", 'contextLength')
  if (cacheType !== undefined && !isCacheTypeChoice(cacheType))
    throw invalid(`'cacheType' can be one of ${CACHE_TYPES_LISTED}.`, 'cacheType')
  if (quantize !== undefined && quantize !== 'q4f16_1') throw invalid("'quantize' can be 'q4f16_1'.", 'quantize')
  const { kind } = placeOf(model)
  if (kind !== 'hub' && kind !== 'foreign')
    throw invalid(
      `"${model}" is not a model name: give a Hugging Face id, ollama:name:tag or lmstudio:owner/name.`,
      'model',
    )
  return {
    model,
    ...(contextLength !== undefined && { contextLength }),
    ...(cacheType && { cacheType }),
    ...(quantize && { quantize }),
  }
}

function placeOf(model: string): ReturnType<typeof locationOf> {
  try {
    return locationOf(model)
  } catch (error) {
    throw invalid((error as Error).message, 'model')
  }
}

const invalid = (message: string, param: string) => new V1Error(400, message, { param })

const shownError = (error: unknown): V1Error =>
  V1Error.is(error) ? error : new V1Error(500, error instanceof Error ? error.message : String(error))

type Tell = (bytes_loaded: number, bytes_total: number) => void

/** A load as a stream of how far it is; who leaves it stops waiting. */
function progressOf(load: (tell: Tell, signal: AbortSignal) => Promise<void>): Response {
  const aborter = new AbortController()
  const news = new News<{ readonly bytes_loaded: number; readonly bytes_total: number }>()
  load((bytes_loaded, bytes_total) => news.tell({ bytes_loaded, bytes_total }), aborter.signal).then(
    () => news.end(),
    (error: unknown) => news.end(error),
  )
  const body = newsStream(news, {
    show: (word) => sseEvent(JSON.stringify(word)),
    last: (error) => (error === undefined ? SSE_DONE : sseEvent(JSON.stringify(shownError(error)))),
    left: () => aborter.abort(new V1Error(499, 'The page left.', { code: 'client_closed_request' })),
  })
  return new Response(body, { headers: SSE_HEADERS })
}
