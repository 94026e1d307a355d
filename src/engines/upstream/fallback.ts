import type { ChatCall, Engine, ModelInfo, Part } from '../../engine.js'
import { V1Error } from '../../errors.js'

export interface FallbackOptions {
  /**
   * How many calls the first engine is given at once; more go to the second without waiting.
   * @default no limit
   */
  maxInFlight?: number
}

/**
 * Two engines as one: the second takes what the first cannot: models it does not have, calls it refuses before their
 * first part for want of a device (503) or of room (429), and calls over `maxInFlight`. What has begun stays where it
 * is. Give both the same name for the model they share:
 *
 * ```ts
 * fallback(webgpu(), upstream({ baseURL, models: { 'local/llama': 'meta-llama/Llama-3.2-1B-Instruct' } }))
 * ```
 */
export function fallback(first: Engine, second: Engine, options: FallbackOptions = {}): Engine {
  const { maxInFlight = Number.POSITIVE_INFINITY } = options
  let inFlight = 0
  const has = (engine: Engine, model: string) => engine.models.some(({ id }) => id === model)

  async function* generate(call: ChatCall): AsyncGenerator<Part> {
    const spare = has(second, call.model)
    if (!has(first, call.model) || (spare && inFlight >= maxInFlight)) return yield* second.generate(call)
    inFlight++
    try {
      let begun = false
      try {
        for await (const part of first.generate(call)) {
          begun = true
          yield part
        }
        return
      } catch (error) {
        if (begun || !spare || call.signal.aborted || !isWant(error)) throw error
      }
    } finally {
      inFlight--
    }
    yield* second.generate(call)
  }

  return {
    get models(): readonly ModelInfo[] {
      const own = first.models
      // Either may answer for a model that both have: what it was is known only at the end.
      const named = own.map((model) => (has(second, model.id) ? { ...model, fingerprint: undefined } : model))
      return [...named, ...second.models.filter(({ id }) => !has(first, id))]
    },
    get ready() {
      return Promise.all([first.ready, second.ready]).then(() => {})
    },
    generate,
    async load(model, onProgress, signal) {
      if (!has(first, model)) return await second.load?.(model, onProgress, signal)
      try {
        await first.load?.(model, onProgress, signal)
      } catch (error) {
        if (!has(second, model) || signal.aborted || !isWant(error)) throw error
        await second.load?.(model, onProgress, signal)
      }
    },
    async unload(model) {
      await Promise.all([first.unload?.(model), second.unload?.(model)])
    },
    async remove(model) {
      await first.remove?.(model)
      await second.remove?.(model)
    },
    async survey() {
      await Promise.all([first.survey?.(), second.survey?.()])
    },
    async close() {
      await Promise.all([first.close?.(), second.close?.()])
    },
  }
}

/** Of a device or of room: what another engine may have. */
function isWant(error: unknown): boolean {
  return V1Error.is(error) && (error.status === 503 || error.status === 429)
}
