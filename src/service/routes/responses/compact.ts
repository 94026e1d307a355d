import type { ChatMessage } from '../../../contract/index.js'
import type { Answer, AnswerHead } from '../../wire/answer.js'
import { itemId, responseId } from '../../wire/ids.js'
import type { WholeReply } from '../../wire/reply.js'
import { wireResponseUsage } from '../../wire/responses/progress.js'
import { readResponseRequest } from '../../wire/responses/request.js'
import type { StoredItem } from '../../wire/responses/resource.js'
import { sealed } from '../../wire/responses/sealed.js'
import { answering } from '../answering.js'
import { readRequest } from '../body.js'
import { findModel } from '../models.js'
import type { Route } from '../service.js'
import { contextOf, shortener } from './conversation.js'
import { RESPONSE_FIELDS } from './create.js'

/** As much as a sum may have: a conversation is to become shorter. */
const MOST_TOKENS = 1024
const ASKED: ChatMessage = {
  role: 'user',
  content:
    'Sum up the conversation so far for somebody who goes on with it: what was asked, decided and found out, names, numbers and what is still open. Answer with the summary alone.',
}

/** `POST responses/compact`: what users said as it was, and of all else a sum that the model makes. */
export const compactResponse: Route = (service, exchange) =>
  answering(service, exchange, async (run) => {
    const request = await readRequest(service, exchange, run.signal, readResponseRequest)
    const reply = new Compaction()
    return {
      id: responseId(),
      ignored: request.ignored,
      reply,
      async context() {
        const { messages, own, bringing } = await contextOf(service, exchange, run, request)
        // A sum has no tools.
        reply.kept = [...bringing, ...own.filter((item) => item.type === 'message' && item.role === 'user')]
        return { messages: [...messages, ASKED] }
      },
      spec: {
        model: request.model,
        messages: [],
        n: 1,
        maxTokens: MOST_TOKENS,
        stop: [],
        sampling: request.sampling,
        output: { type: 'text' },
        tools: [],
        toolChoice: 'none',
        parallelToolCalls: true,
        templateOptions: { enable_thinking: false },
        fields: RESPONSE_FIELDS,
        shortened: shortener(() => findModel(service.engine, request.model).contextLength),
      },
    }
  })

class Compaction implements WholeReply {
  readonly stream = false
  /** What users said, and the tools that became known on the way. */
  kept: readonly StoredItem[] = []
  #head: AnswerHead | undefined
  #answer: Answer | undefined

  begin(head: AnswerHead, answer: Answer): void {
    this.#head = head
    this.#answer = answer
  }

  part(): void {}

  whole(): unknown {
    const { id, created } = this.#head!
    const { choices, usage } = this.#answer!
    const sum = { type: 'compaction', id: itemId('cmp'), encrypted_content: sealed(choices[0]!.text.trim()) }
    const output = [...this.kept, sum]
    return { id, object: 'response.compaction', created_at: created, output, usage: wireResponseUsage(usage) }
  }
}
