import type { Part, V1Error } from '../../../contract/index.js'
import { answering } from '../../answer/answering.js'
import { readRequest } from '../../answer/body.js'
import type { Exchange, RouteResponse, Service } from '../../answer/service.js'
import { SSE_DONE, sseEvent } from '../../stream/sse.js'
import { customNames } from '../../wire/custom-tool.js'
import { completionId } from '../../wire/ids.js'
import type { Answer, Reply, ReplyHead, StreamReply, WholeReply } from '../../wire/reply.js'
import { ChunkWriter, type Completion, completionOf, Logprobs } from './completion.js'
import { type ChatRequest, readChatRequest } from './request.js'

export function chat(service: Service, exchange: Exchange): Promise<RouteResponse> {
  return answering(service, exchange, async ({ signal }) => {
    const request = await readRequest(service, exchange, signal, readChatRequest)
    const { spec, ignored } = request
    return { spec, reply: chatReply(request), id: completionId(), ignored }
  })
}

/** A chat completion as the request wants it: whole, or in chunks. */
export function chatReply(request: ChatRequest): Reply {
  return request.stream ? new ChatChunks(request) : new ChatCompletion(request)
}

class ChatChunks implements StreamReply {
  readonly stream = true
  readonly #request: ChatRequest
  #writer: ChunkWriter | undefined

  constructor(request: ChatRequest) {
    this.#request = request
  }

  begin(head: ReplyHead, answer: Answer): string {
    this.#writer = new ChunkWriter(
      head,
      answer,
      { ...this.#request, custom: customNames(this.#request.spec.tools) },
      sseEvent,
    )
    return ''
  }

  part(part: Part): string {
    return this.#writer!.write(part)
  }

  end(): string {
    return this.#writer!.end() + SSE_DONE
  }

  failed(error: V1Error): string {
    return sseEvent(JSON.stringify(error))
  }
}

class ChatCompletion implements WholeReply {
  readonly stream = false
  readonly #logprobs: Logprobs | undefined
  readonly #custom: ReadonlySet<string>
  #head: ReplyHead | undefined
  #answer: Answer | undefined

  constructor({ spec: { topLogprobs, n, tools } }: ChatRequest) {
    this.#custom = customNames(tools)
    this.#logprobs = topLogprobs === undefined ? undefined : new Logprobs(n)
  }

  begin(head: ReplyHead, answer: Answer): void {
    this.#head = head
    this.#answer = answer
  }

  part(part: Part): void {
    this.#logprobs?.take(part)
  }

  whole(): Completion {
    return completionOf(this.#head!, this.#answer!, this.#logprobs, this.#custom)
  }
}
