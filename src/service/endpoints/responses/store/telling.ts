import { V1Error } from '../../../../contract/index.js'
import { memoryResponses } from './shelved.js'
import type { ConversationStore, ResponseStore } from './store.js'

/**
 * The store, of whose errors clients are told. Of what is only kept beside an answer, the answer is given all the same, and
 * the log has the error as it is.
 */
export function telling(store: ResponseStore): ResponseStore & { readonly conversations: ConversationStore } {
  const conversations = store.conversations ?? memoryResponses().conversations!
  return {
    put: async (kept) => store.put(kept),
    get: (owner, id) => told('read', () => store.get(owner, id)),
    items: (owner, ids) => told('read', () => store.items(owner, ids)),
    delete: (owner, id) => told('written', () => store.delete(owner, id)),
    conversations: {
      put: async (kept, orNot) =>
        orNot ? told('written', () => conversations.put(kept, orNot)) : conversations.put(kept),
      get: (owner, id) => told('read', () => conversations.get(owner, id)),
      delete: (owner, id) => told('written', () => conversations.delete(owner, id)),
    },
    close: async () => store.close?.(),
  }
}

async function told<T>(done: 'read' | 'written', act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (cause) {
    if (V1Error.is(cause)) throw cause
    const message = `The store of responses and conversations cannot be ${done}, so nothing was changed. Make room on its disk, or give the service a place that it may write to; its log says what is wrong. Then send the request again.`
    // It would fail again until somebody has mended it.
    const headers = { 'x-should-retry': 'false' }
    throw new V1Error(507, message, { code: `store_not_${done}`, headers, cause })
  }
}
