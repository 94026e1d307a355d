import { V1Error } from '../../contract/index.js'
import { byId } from '../../platform/index.js'
import type { AppConfig, ModelRecord, WebLlmLibrary } from './library.js'
import type { WebLlmOptions } from './options.js'
import { findOffered, type Offered, offer, provisionalId } from './records.js'

/** A model as it can be listed; without its record as long as WebLLM's own list is not here. */
export interface Listed {
  readonly id: string
  readonly record?: ModelRecord
}

interface Opened {
  readonly library: WebLlmLibrary
  readonly appConfig: AppConfig
}

/** What is offered: of WebLLM's own list, which comes with the library, and of the user's records. */
export class Catalog {
  readonly #options: WebLlmOptions
  readonly #own: readonly Offered[]
  readonly #loadLibrary: () => Promise<WebLlmLibrary>
  #opened: Promise<Opened> | undefined
  #listed: readonly Listed[]
  #offered: readonly Offered[] = []

  constructor(options: WebLlmOptions, loadLibrary: () => Promise<WebLlmLibrary>) {
    const own = options.models?.find((model) => typeof model !== 'string' && 'cacheType' in model)
    if (own !== undefined) {
      throw new TypeError(
        "webllm: 'cacheType' is of webgpu's models: WebLLM keeps keys and values as its libraries were compiled.",
      )
    }
    this.#options = options
    this.#loadLibrary = loadLibrary
    this.#own = offer(ownRecords(options))
    this.#listed = (options.models ?? []).map((model) =>
      typeof model === 'string' ? { id: provisionalId(model) } : this.#own.find(({ record }) => record === model)!,
    )
    byId('webllm', this.#listed, '{ model, model_id, model_lib }')
  }

  get listed(): readonly Listed[] {
    return this.#listed
  }

  /** Fetches the list if there is no other way to know what is offered. */
  async open(): Promise<void> {
    if (this.#options.models === undefined) await this.library()
  }

  async find(id: string): Promise<Offered | undefined> {
    if (this.#options.models !== undefined && !this.#listed.some((each) => each.id === id)) return undefined
    await this.library()
    return this.#offered.find((each) => each.id === id)
  }

  library(): Promise<Opened> {
    this.#opened ??= this.#open().catch((cause: unknown) => {
      // The next request tries again.
      this.#opened = undefined
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new V1Error(503, `WebLLM could not be loaded: ${why}`, { code: 'engine_missing', retryAfter: 5, cause })
    })
    return this.#opened
  }

  async #open(): Promise<Opened> {
    const library = await this.#loadLibrary()
    const base = this.#options.engineConfig?.appConfig ?? library.prebuiltAppConfig
    const own = this.#own.map(({ record }) => record)
    const named = new Set(own.map(({ model_id }) => model_id))
    const records = [...own, ...base.model_list.filter(({ model_id }) => !named.has(model_id))]
    const chat = offer(records.filter(({ model_type }) => model_type !== library.ModelType.embedding))
    const { models } = this.#options
    if (models === undefined) this.#offered = chat
    else this.#offered = models.flatMap((model) => this.#choose(chat, model) ?? [])
    // Names that WebLLM does not know are no longer listed.
    this.#listed = this.#offered
    return { library, appConfig: { ...base, model_list: records } }
  }

  /** An entry of the user's list, under the id that it was listed by from the start. */
  #choose(chat: readonly Offered[], model: string | ModelRecord): Offered | undefined {
    if (typeof model !== 'string') return this.#own.find(({ record }) => record === model)
    const found = findOffered(chat, model)
    return found && { ...found, id: provisionalId(model) }
  }
}

function ownRecords({ models }: WebLlmOptions): ModelRecord[] {
  return (models ?? []).filter((model) => typeof model !== 'string')
}
