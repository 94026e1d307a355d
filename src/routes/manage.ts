import type { LoadProgress } from '../engine.js'
import { V1Error } from '../errors.js'
import { readableOf } from '../stream/readable.js'
import { SSE_DONE, SSE_HEADERS, sseEvent } from '../stream/sse.js'
import { requestError } from './failure.js'
import { findModel, lookedAround, wireModel } from './models.js'
import { type Answered, type Exchange, jsonAnswer, type Route } from './service.js'

/** A download tells of every piece that arrives: more than ten times a second nobody can read. */
const TELL_MS = 100

/** `POST models/<id>/load`: a stream of how far it is. Leaving it leaves the load alone. */
export const loadModel: Route = async ({ engine, loader }, exchange) => {
  await lookedAround(engine, exchange.request.signal)
  const { id } = findModel(engine, exchange.rest)
  const news = new News()
  const { signal } = exchange.request
  const done = loader.load(id, (progress) => news.tell(progress), signal)
  done.then(
    () => news.end(),
    (error: unknown) => news.end(error),
  )
  // What is refused at once is a plain answer, as everywhere.
  await news.wait()
  if (news.over && news.error !== undefined) throw news.error
  return streamed(exchange, news)
}

/** `POST models/<id>/unload`: frees its memory; stops a load that is on its way. */
export const unloadModel: Route = async ({ engine, loader }, exchange) => {
  await lookedAround(engine, exchange.request.signal)
  const { id } = findModel(engine, exchange.rest)
  await loader.unload(id)
  return jsonAnswer(wireModel(findModel(engine, id)))
}

/** `DELETE models/<id>`: what was downloaded is deleted; the model may be loaded again. */
export const removeModel: Route = async ({ engine, loader }, exchange) => {
  await lookedAround(engine, exchange.request.signal)
  const { id } = findModel(engine, exchange.rest)
  if (!engine.remove) {
    throw new V1Error(409, `The model '${id}' cannot be removed.`, { param: 'model', code: 'not_downloaded' })
  }
  await loader.unload(id)
  await engine.remove(id)
  return jsonAnswer({ id, object: 'model', deleted: true })
}

function streamed(exchange: Exchange, news: News): Answered {
  const pull = async (): Promise<string | undefined> => {
    if (news.closed) return undefined
    await news.wait()
    const event = news.take()
    if (event !== undefined) return sseEvent(event)
    news.closed = true
    if (news.error === undefined) {
      exchange.end(200)
      return SSE_DONE
    }
    const shown = requestError(news.error, exchange.request.signal.aborted)
    exchange.end(shown.status, { error: news.error })
    return sseEvent(JSON.stringify(shown))
  }
  const cancel = () => {
    news.closed = true
    exchange.end(499)
  }
  return { status: 200, body: readableOf({ pull, cancel }), headers: SSE_HEADERS, streams: true }
}

/** The newest word of a load, for a reader who comes when it can. */
class News {
  over = false
  closed = false
  error: unknown
  #latest: LoadProgress | undefined
  #told = 0
  #wake: (() => void) | undefined

  tell(progress: LoadProgress): void {
    this.#latest = progress
    this.#wake?.()
  }

  end(error?: unknown): void {
    this.over = true
    this.error = error
    this.#wake?.()
  }

  /** Until there is something to tell. */
  async wait(): Promise<void> {
    const early = TELL_MS - (performance.now() - this.#told)
    if (!this.over && this.#told > 0 && early > 0) await this.#sleep(early)
    while (!this.over && this.#latest === undefined) await this.#sleep()
  }

  take(): string | undefined {
    const progress = this.#latest
    if (progress === undefined) return undefined
    this.#latest = undefined
    this.#told = performance.now()
    return JSON.stringify(wireProgress(progress))
  }

  /** Woken by the end, and, where no time is given, by the next word. */
  #sleep(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms)
      this.#wake = () => {
        if (timer !== undefined && !this.over) return
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }
}

function wireProgress(progress: LoadProgress) {
  const { model, phase, bytesLoaded, bytesTotal, filesLoaded, filesTotal, secondsLeft, message, retry } = progress
  return {
    object: 'model.load',
    model,
    phase,
    bytes_loaded: bytesLoaded,
    bytes_total: bytesTotal,
    files_loaded: filesLoaded,
    files_total: filesTotal,
    ...(secondsLeft !== undefined && { seconds_left: secondsLeft }),
    ...((retry ?? message) !== undefined && { message: retry ?? message }),
  }
}
