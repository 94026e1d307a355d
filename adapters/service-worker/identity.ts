import { type FromPage, wrap } from './messages.js'

/** Longer than a service worker takes that has to be started first. */
const ANSWER_MS = 5000

/** Whether a service worker is of this package, whatever its script is called: one that is not says nothing. */
export async function isOfOurs(worker: ServiceWorker): Promise<boolean> {
  const { port1, port2 } = new MessageChannel()
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    return await new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, ANSWER_MS, false)
      port1.onmessage = () => resolve(true)
      worker.postMessage(wrap<FromPage>({ type: 'who' }), [port2])
    })
  } catch {
    // It is no more.
    return false
  } finally {
    clearTimeout(timer)
    port1.close()
  }
}

/** Is said by the service worker to a page that asks. */
export function sayWho(port: MessagePort): void {
  port.postMessage(wrap({ type: 'ours' }))
}
