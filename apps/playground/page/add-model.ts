import { addedModels, announceAdded, keepAdded, placeOf } from '../worker/added-models.js'
import { announce, button, byId, el } from './dom.js'
import { bytes } from './format.js'
import { adviceFor, type Machine } from './machine.js'
import type { Models } from './models.js'

/** Set by the build: where models are downloaded from. */
declare const __HUB__: string

/** Any model of the hub: what it takes is looked up before it is added, and nothing is downloaded by that. */
export function connectAddModel(models: Models, machine: Machine): void {
  const form = byId('add-model', HTMLFormElement)
  const input = byId('add-model-id', HTMLInputElement)
  const place = byId('add-model-found', HTMLElement)
  form.hidden = machine.elsewhere === true
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void look()
  })
  const say = (text: string, kind = 'advice') => place.replaceChildren(el('p', { class: kind, role: 'status' }, text))

  async function look(): Promise<void> {
    const id = input.value
      .trim()
      .replace(/^https:\/\/huggingface\.co\//, '')
      .replace(/\/$/, '')
    const at = placeOf(id, __HUB__)
    if (!at) return say('Write it as owner/name, or owner/name/file.gguf.', 'advice bad')
    if (models.list.some((model) => model.id === id)) {
      models.select(id)
      return say('It is in the list.')
    }
    say('Looking it up.')
    const size = await sizeOf(at).catch(() => undefined)
    if (size === undefined) {
      return say('No model that can run here was found there: it needs MLC, safetensors or GGUF files.', 'advice bad')
    }
    // A cache of keys and values, and what is computed on the way.
    const memory = Math.round(size * 1.2)
    const advice = adviceFor({ id, metadata: { download_bytes: size, memory_bytes: memory } }, machine)
    const verdict = { good: 'Fits.', slow: 'Fits, but is slow here.', bad: 'Does not fit.' }[advice.kind]
    const add = button(`Add, ${bytes(size)}`, () => void addIt(id, size, memory), { class: 'small' })
    place.replaceChildren(
      el('p', { class: `advice ${advice.kind}`, role: 'status' }, `${verdict} ${advice.text}`),
      el('div', { class: 'actions' }, add),
    )
  }

  async function addIt(id: string, downloadBytes: number, memoryBytes: number): Promise<void> {
    await keepAdded([...(await addedModels()), { id, downloadBytes, memoryBytes }])
    announceAdded()
    // The worker hears of it in its own time.
    for (let i = 0; i < 20 && !models.list.some((model) => model.id === id); i++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      await models.refresh().catch(() => {})
    }
    models.select(id)
    input.value = ''
    place.replaceChildren()
    announce(`${id} was added.`)
  }
}

/** What a download would take, from what repositories say of themselves. */
async function sizeOf(address: string): Promise<number | undefined> {
  if (address.endsWith('.gguf')) return lengthOf(address)
  for (const name of ['tensor-cache.json', 'ndarray-cache.json']) {
    const manifest = await json<{ records?: { nbytes?: number }[] }>(address + name)
    if (manifest?.records) return manifest.records.reduce((sum, { nbytes = 0 }) => sum + nbytes, 0)
  }
  const index = await json<{ metadata?: { total_size?: number } }>(`${address}model.safetensors.index.json`)
  return index?.metadata?.total_size ?? lengthOf(`${address}model.safetensors`)
}

async function json<T>(address: string): Promise<T | undefined> {
  const response = await fetch(address)
  return response.ok ? ((await response.json()) as T) : undefined
}

async function lengthOf(address: string): Promise<number | undefined> {
  const response = await fetch(address, { method: 'HEAD' })
  const length = response.headers.get('content-length')
  return response.ok && length !== null ? Number(length) : undefined
}
