import { answering } from '../../answer/answering.js'
import { readRequest } from '../../answer/body.js'
import { counting } from '../../answer/counting.js'
import { once } from '../../answer/once.js'
import type { EndpointEntry, EndpointSet, Route } from '../../answer/service.js'
import { itemId } from '../../wire/ids.js'
import { MessageEvents, MessageProgress, messagesDialect } from './reply.js'
import { readMessageRequest } from './request.js'

export type { EndpointSet } from '../../answer/service.js'

/**
 * Anthropic's interface next to OpenAI's: `POST {basePath}/messages`, with its stream of events, tools, thinking and
 * `output_config.format`, and `POST {basePath}/messages/count_tokens`. The base URL of its clients is the base path without
 * `/v1`; they use any of the service's keys.
 *
 * ```ts
 * const v1 = createV1({ engine, keys, endpoints: [messages()] })
 * ```
 */
export function messages(): EndpointSet {
  return { endpoints: ENDPOINTS }
}

const createMessage: Route = (service, exchange) =>
  answering(service, exchange, async ({ signal }) => {
    const read = await readRequest(service, exchange, signal, (body) => readMessageRequest(body))
    const { spec, stream, skipped, ignored } = read
    return {
      spec,
      reply: stream ? new MessageEvents(read, exchange.requestId) : new MessageProgress(read),
      id: itemId('msg'),
      ignored,
      ...(skipped.length > 0 && { headers: { 'x-skipped-tools': skipped.join(', ') } }),
    }
  })

const countTokens: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const read = (body: unknown) => readMessageRequest(body, 'to be counted')
    const { spec, ignored } = await readRequest(service, exchange, signal, read)
    const about = { model: spec.model, ignored }
    return counting(
      service,
      exchange,
      about,
      () => spec,
      (tokens) => ({ input_tokens: tokens }),
    )
  })

const ENDPOINTS: readonly EndpointEntry[] = [
  { method: 'POST', path: '/messages', route: createMessage, dialect: messagesDialect },
  { method: 'POST', path: '/messages/count_tokens', route: countTokens, dialect: messagesDialect },
]
