import type { JsonObject } from '../../platform/index.js'
import { readSent } from '../routes/body.js'
import type { Exchange, Service } from '../routes/service.js'
import { LinkedAbort } from '../stream/abort.js'
import { aBody } from '../wire/fields.js'

/** The body of a request, under whichever type it comes: Ollama's own examples send it by `curl -d` alone. */
export async function bodyOf(service: Service, exchange: Exchange): Promise<JsonObject> {
  const reading = new LinkedAbort(exchange.request.signal, service.deadlines)
  try {
    return aBody(await readSent(service, exchange, reading.signal, 'of any type'))
  } finally {
    reading.dispose()
  }
}
