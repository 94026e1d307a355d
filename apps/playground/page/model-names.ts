import { CATALOG, type CatalogModel, NANO } from '../../../src/models/catalog.js'
import type { Model } from './api.js'
import { bytes } from './format.js'
import type { Models } from './models.js'

const known = new Map<string, CatalogModel>(CATALOG.map((model) => [model.id, model]))

export const aboutModel = (id: string): CatalogModel | undefined => known.get(id)

export const nameOf = (id: string): string => known.get(id)?.name ?? id.slice(id.indexOf('/') + 1)

export const isNano = (id: string): boolean => id === NANO

export const chats = (id: string): boolean => known.get(id)?.use !== 'fields'

/** With what is not here yet: a download that broke off goes on where it was. */
export function downloadLabel({ metadata = {} }: Pick<Model, 'metadata'> = {}): string {
  const { download_bytes: size, kept_bytes = 0 } = metadata
  return size === undefined ? 'Download' : `Download ${bytes(Math.max(0, size - kept_bytes))}`
}

/** What a button says that needs the model: a download of hundreds of megabytes is no surprise. */
export function actionLabel({ current, selected, loads }: Models, action: string): string {
  const { loaded, kept, download_bytes } = current?.metadata ?? {}
  if (loads.has(selected)) return `${action} when ready`
  if (loaded || kept || download_bytes === undefined || selected === NANO) return action
  return `${downloadLabel(current)} and ${action.toLowerCase()}`
}
