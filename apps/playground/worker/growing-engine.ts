import type { Engine, ModelInfo } from 'local-v1'
import { V1Error } from 'local-v1'

/** An engine to which models are added while it runs: each of those has an engine of its own, made when it is. */
export function growing(first: Engine, make: (id: string) => Engine | undefined): GrowingEngine {
  const added = new Map<string, Engine>()
  const engines = () => [first, ...added.values()]
  const of = (model: string): Engine => {
    const found = engines().find(({ models }) => models.some(({ id }) => id === model))
    if (found) return found
    throw new V1Error(404, `The model '${model}' is not there.`, { code: 'model_not_found', param: 'model' })
  }
  return {
    version: 2,
    get models(): readonly ModelInfo[] {
      return engines().flatMap(({ models }) => models)
    },
    add(ids) {
      for (const id of ids) {
        if (first.models.some((model) => model.id === id) || added.has(id)) continue
        const engine = make(id)
        if (engine) added.set(id, engine)
      }
    },
    generate: (call) => of(call.model).generate(call),
    tokenize: (call) => asked(of(call.model).tokenize?.(call)),
    detokenize: (call) => asked(of(call.model).detokenize?.(call)),
    embed: (call) => asked(of(call.model).embed?.(call)),
    load: (model, onProgress, signal) => of(model).load?.(model, onProgress, signal) ?? Promise.resolve(),
    unload: (model) => of(model).unload?.(model) ?? Promise.resolve(),
    remove: (model) => of(model).remove?.(model) ?? Promise.resolve(),
    async survey() {
      await Promise.all(engines().map((engine) => engine.survey?.()))
    },
    async close() {
      await Promise.all(engines().map((engine) => engine.close?.()))
    },
  }
}

export interface GrowingEngine extends Engine {
  /** Of those that are not there yet. */
  add(ids: readonly string[]): void
}

function asked<T>(answer: Promise<T> | undefined): Promise<T> {
  if (answer) return answer
  throw new V1Error(400, 'The engine of this model cannot do that.', { code: 'model_not_supported', param: 'model' })
}
