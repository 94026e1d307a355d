import { type AddedModel, addedModels, keepAdded } from '../worker/added-models.js'
import { type Answer, type Found, type How, LOOK, type Question, type Wanted } from '../worker/look-messages.js'
import type { Machine } from './machine.js'

/** Set by the build: where models are downloaded from. */
declare const __HUB__: string

/** Looks at models that are not in the list yet, and adds them. */
export interface Finder {
  /** Whether files of this computer can be given. */
  readonly takesFiles: boolean
  /** What a name may be, in a few words. */
  readonly names: string
  /** What lies on this machine already. */
  readonly here: readonly { readonly name: string; readonly bytes?: number }[]
  look(wanted: Wanted, how?: How): Promise<Found>
  /** Puts it into the list; with its id. */
  add(found: Found, wanted: Wanted, how: How, onProgress: (done: number, of: number) => void): Promise<string>
}

/** After so long without a question, the device is given back. */
const REST_MS = 60_000

/** In this page: a worker looks, and the list of added models is kept beside the downloads. */
export class PageFinder implements Finder {
  readonly takesFiles = true
  readonly names = 'From Hugging Face: owner/name, owner/name:Q4_K_M or owner/name/file.gguf'
  readonly here = []
  readonly #free: number | undefined
  #worker: Worker | undefined
  #rest: ReturnType<typeof setTimeout> | undefined

  constructor({ memoryGb }: Machine) {
    // A browser says 8 for more, and a page gets a good part of less.
    this.#free = memoryGb === undefined || memoryGb >= 8 ? undefined : memoryGb * 4e8
  }

  async look(wanted: Wanted, how: How = {}): Promise<Found> {
    const place = typeof wanted === 'string' ? placeOf(wanted) : wanted
    for (const file of typeof place === 'string' ? [] : place) {
      if ((await file.slice(0, 4).text()) === 'GGUF') continue
      throw new Error(`${file.name} is no GGUF file, and so no model. Texts go into the fields, or onto the Table tab.`)
    }
    const question = {
      kind: 'look',
      wanted: place,
      how,
      ...(this.#free !== undefined && { free: this.#free }),
    } as const
    const answer = await this.#ask(question, () => {})
    if ('found' in answer) return answer.found
    throw new Error('Nothing was found.')
  }

  async add(
    found: Found,
    wanted: Wanted,
    { cacheType, quantize }: How,
    onProgress: (done: number, of: number) => void,
  ): Promise<string> {
    const { id, downloadBytes, memoryBytes = 0, contextLength = 0 } = found
    const answer = typeof wanted === 'string' ? undefined : await this.#ask({ kind: 'keep', files: wanted }, onProgress)
    const from = answer && 'kept' in answer ? answer.kept : found.from
    const model: AddedModel = {
      ...{ id, from, contextLength, downloadBytes, memoryBytes },
      ...(cacheType && { cacheType }),
      ...(quantize && { quantize }),
    }
    await keepAdded([...(await addedModels()).filter((each) => each.id !== id), model])
    return id
  }

  /** Settles with the last answer; those before it tell how far it is. */
  #ask(question: Question, onProgress: (done: number, of: number) => void): Promise<Answer> {
    clearTimeout(this.#rest)
    this.#worker ??= new Worker('v1.js', { name: LOOK })
    const worker = this.#worker
    const { port1: port, port2 } = new MessageChannel()
    return new Promise<Answer>((resolve, reject) => {
      port.onmessage = ({ data }: MessageEvent<Answer>) => {
        if ('failed' in data) reject(new Error(data.failed))
        else if ('done' in data) onProgress(data.done, data.of)
        else resolve(data)
      }
      worker.onerror = () => reject(new Error('The model could not be checked: its worker did not start.'))
      worker.postMessage(question, [port2])
    }).finally(() => {
      port.close()
      this.#rest = setTimeout(() => {
        worker.terminate()
        if (this.#worker === worker) this.#worker = undefined
      }, REST_MS)
    })
  }
}

/** What was written or pasted, as the library takes it; of another hub, the address there. */
export function placeOf(written: string, hub = __HUB__): string {
  const name = written
    .trim()
    .replace(/^https:\/\/(huggingface\.co|hf\.co)\//, '')
    .replace(/\/(blob|resolve)\/main(\/|$)/, '$2')
    .replace(/\/(tree\/main\/?)?$/, '')
  const found = /^(?:hf:)?([\w.-]+\/[\w.-]+)(?:\/([\w./-]+\.gguf)|:([\w.-]+))?$/i.exec(name)
  if (!found || name.includes('..'))
    throw new Error('Write it as owner/name, owner/name:Q4_K_M or owner/name/file.gguf.')
  const [, repository, file = '', quantisation] = found
  if (hub === 'https://huggingface.co' || quantisation !== undefined) return name
  return `${hub}/${repository}/resolve/main/${file}`
}
