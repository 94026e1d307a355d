import type { JsonObject } from '../platform/json.js'
import { readSent } from '../routes/body.js'
import { timedOut } from '../routes/run.js'
import type { Exchange, Service } from '../routes/service.js'
import { linkAbort } from '../stream/abort.js'
import { aBody } from '../wire/fields.js'

/** The body of a request, under whichever type it comes: Ollama's own examples send it by `curl -d` alone. */
export async function bodyOf(service: Service, exchange: Exchange): Promise<JsonObject> {
  const { timeoutMs } = service
  const { signal, dispose } = linkAbort(
    exchange.request.signal,
    timeoutMs,
    () => timedOut(timeoutMs!),
    () => {},
  )
  try {
    return aBody(await readSent(service, exchange, signal, 'of any type'))
  } finally {
    dispose()
  }
}
