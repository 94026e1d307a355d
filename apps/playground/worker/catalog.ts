/** The models that the playground offers, and what is known of them before they are downloaded. */
import { CATALOG, type CatalogModel } from '../../../src/catalog.js'

export { type CatalogModel, NANO } from '../../../src/catalog.js'

/** All of them: those that make vectors and scores answer requests. */
export const catalog: readonly CatalogModel[] = CATALOG

/** Where the files of `owner/name`, or the one of `owner/name/file.gguf`, lie on a hub. */
export function addressOf(from: string, hub: string): string {
  const [owner, name, ...file] = from.split('/')
  return `${hub}/${owner}/${name}/resolve/main/${file.join('/')}`
}
