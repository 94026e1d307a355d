import { chatReply } from '../wire/chat/reply.js'
import { CHAT_FIELDS, readChatRequest } from '../wire/chat/request.js'
import { withNames } from '../wire/guidance.js'
import { completionId } from '../wire/ids.js'
import { answering } from './answering.js'
import { readRequest } from './body.js'
import type { Answered, Exchange, Service } from './service.js'

export function chat(service: Service, exchange: Exchange): Promise<Answered> {
  return answering(service, exchange, async ({ signal }) => {
    const request = await readRequest(service, exchange, signal, readChatRequest)
    const { stream, includeUsage, includeForced, outputField, thinkingField, ignored, ...spec } = request
    const fields = withNames(CHAT_FIELDS, { outputField, thinkingField })
    return { spec: { ...spec, fields }, reply: chatReply(request), id: completionId(), ignored }
  })
}
