import { shelvedResponses } from './shelved.js'
import type { ResponseBounds, ResponseStore, Shelf } from './store.js'

/** Responses and conversations kept as long as the process, the page or the service worker lives. */
export function memoryResponses(bounds?: ResponseBounds): ResponseStore {
  const texts = new Map<string, string>()
  const shelf: Shelf = {
    async *open() {},
    read: async (id: string) => texts.get(id),
    write: async (id: string, text: string) => void texts.set(id, text),
    remove: async (id: string) => void texts.delete(id),
    close: async () => texts.clear(),
  }
  return shelvedResponses(shelf, bounds)
}
