import { chatReply } from '../wire/chat/reply.js'
import { readChatRequest } from '../wire/chat/request.js'
import { completionId } from '../wire/ids.js'
import { answering } from './answering.js'
import { readRequest } from './body.js'
import type { Answered, Exchange, Service } from './service.js'

export function chat(service: Service, exchange: Exchange): Promise<Answered> {
  return answering(service, exchange, async ({ signal }) => {
    const request = await readRequest(service, exchange, signal, readChatRequest)
    const { spec, ignored } = request
    return { spec, reply: chatReply(request), id: completionId(), ignored }
  })
}
