import { textReply } from '../wire/completions/reply.js'
import { readTextRequest } from '../wire/completions/request.js'
import { textCompletionId } from '../wire/ids.js'
import { answering } from './answering.js'
import { readJson } from './body.js'
import type { Route } from './service.js'

/** `POST completions`: the older form, which goes on from a text as it stands. */
export const completions: Route = (service, exchange) =>
  answering(service, exchange, async ({ signal }) => {
    const request = readTextRequest(await readJson(service, exchange, signal))
    return { spec: request.spec, reply: textReply(request), id: textCompletionId(), ignored: request.ignored }
  })
