import type { ModelRecord } from './library.js'

/** A record under the id by which clients ask for it. */
export interface Offered {
  readonly id: string
  readonly record: ModelRecord
}

const ID = /^[\w.-]+\/[\w.-]+$/

/**
 * Gives each record its id: namespace and name in the address of its weights. Where several share their weights (the
 * same model with a smaller context), the one that is named like them has that id, the others keep their own names.
 */
export function offer(records: readonly ModelRecord[]): Offered[] {
  const groups = new Map<string, ModelRecord[]>()
  for (const record of records) {
    const id = repositoryId(record)
    const group = groups.get(id)
    if (group === undefined) groups.set(id, [record])
    else group.push(record)
  }
  const ids = new Map<ModelRecord, string>()
  for (const [id, group] of groups) {
    const [namespace, name] = id.split('/') as [string, string]
    const first = group.find((record) => record.model_id === name) ?? group[0]!
    for (const record of group) ids.set(record, record === first ? id : `${namespace}/${plain(record.model_id)}`)
  }
  return records.map((record) => ({ id: ids.get(record)!, record }))
}

function repositoryId({ model, model_id }: ModelRecord): string {
  if (ID.test(model_id)) return model_id
  const hub = /^https:\/\/huggingface\.co\/([\w.-]+)\/([\w.-]+)(?:\/|$)/.exec(model)
  return hub ? `${hub[1]}/${hub[2]}` : `local/${plain(model_id)}`
}

/** Where a record's files lie: as WebLLM has it, and relative to the page, which it refuses. */
export function weightsAddress(model: string): string {
  const page = typeof location === 'undefined' ? undefined : location.href
  const { href } = new URL(model.endsWith('/') ? model : `${model}/`, page)
  return /.+\/resolve\/.+\//.test(href) ? href : `${href}resolve/main/`
}

/** In Node and Deno a compiled library may be named by its path. */
export function libraryAddress(library: string): string {
  const page = typeof location === 'undefined' ? undefined : location.href
  return page?.startsWith('file:') ? new URL(library, page).href : library
}

const plain = (name: string) => name.replace(/[^\w.-]+/g, '-')

/** What a user wrote, an id or WebLLM's own name, among the records. */
export function findOffered(list: readonly Offered[], name: string): Offered | undefined {
  return list.find(({ id }) => id === name) ?? list.find(({ record }) => record.model_id === name)
}

/** An id to list before WebLLM's own list is known. */
export function provisionalId(name: string): string {
  return ID.test(name) ? name : `mlc-ai/${plain(name)}`
}
