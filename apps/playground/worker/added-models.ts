/** The models that a user added: one list for the page and every worker of the origin, kept beside the downloads. */

export interface AddedModel {
  readonly id: string
  readonly downloadBytes: number
  readonly memoryBytes: number
}

const CACHE = 'added models'
const ADDRESS = '/added-models.json'
const CHANNEL = 'local-v1 playground models'

export async function addedModels(): Promise<readonly AddedModel[]> {
  try {
    const kept = await (await caches.open(CACHE)).match(ADDRESS)
    return kept ? ((await kept.json()) as AddedModel[]) : []
  } catch {
    return []
  }
}

export async function keepAdded(models: readonly AddedModel[]): Promise<void> {
  await (await caches.open(CACHE)).put(ADDRESS, Response.json(models))
}

export function announceAdded(): void {
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage('added')
  channel.close()
}

export function onAdded(listener: () => void): void {
  new BroadcastChannel(CHANNEL).addEventListener('message', listener)
}

/** Where the files of `owner/name` or `owner/name/file.gguf` lie on a hub; undefined for what is neither. */
export function placeOf(id: string, hub: string): string | undefined {
  const found = /^([\w.-]+\/[\w.-]+)(?:\/([\w./-]+\.gguf))?$/.exec(id)
  if (!found || id.includes('..')) return undefined
  const [, repository, file = ''] = found
  return `${hub}/${repository}/resolve/main/${file}`
}
