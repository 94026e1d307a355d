/** The speed in Node, in a thread that WebLLM takes for a page. */
import { parentPort } from 'node:worker_threads'
import { becomePage } from '../../src/engines/webllm/host/become-page.js'
import { seenStore } from '../../src/engines/webllm/host/seen-store.js'
import { noStore } from '../../src/models/files/store/memory.js'
import { bothPaces } from './speed.js'

parentPort!.once('message', async (origin: string) => {
  await becomePage(seenStore(noStore))
  parentPort!.postMessage(await bothPaces(origin))
})
