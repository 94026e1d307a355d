import type { ChatMessage } from '../../../contract/index.js'
import { answering, type RunRequest } from '../../answer/answering.js'
import { readRequest } from '../../answer/body.js'
import { counting } from '../../answer/counting.js'
import { findModel } from '../../answer/loader.js'
import { once } from '../../answer/once.js'
import type { Run } from '../../answer/run.js'
import {
  type Exchange,
  jsonResponse,
  ownerOf,
  type Route,
  type RouteResponse,
  type Service,
} from '../../answer/service.js'
import { inTime, LinkedAbort } from '../../stream/abort.js'
import { SSE_HEADERS } from '../../stream/sse.js'
import { itemId, newId, sealed, seconds } from '../../wire/ids.js'
import { withNames } from '../../wire/output-format.js'
import type { Answer, CallSpec, FieldNames, Reply, ReplyHead, WholeReply } from '../../wire/reply.js'
import { contextOf, joinedItems, shortener, withoutOldest } from './conversation.js'
import { callsWithoutResult } from './messages.js'
import { BackgroundResponse, letGo } from './store/background.js'
import type { KeptConversation, KeptResponse } from './store/store.js'
import { ResponseProgress, wireResponseUsage } from './wire/progress.js'
import { type KeepResponse, ResponseEvents, WholeResponse } from './wire/reply.js'
import { type ResponseRequest, readResponseRequest } from './wire/request.js'
import type { ResponseResource, StoredItem } from './wire/resource.js'
import type { ResponseTools } from './wire/tools.js'

export const RESPONSE_FIELDS: FieldNames = {
  format: 'text.format.schema',
  logprobs: 'include',
  thinking: 'reasoning.effort',
  quote: 'text.format.quote',
  parameters: (tool) => `tools[${tool}].parameters`,
}

export function createResponse(service: Service, exchange: Exchange): Promise<RouteResponse> {
  const client = new AbortController()
  const left = () => client.abort(exchange.request.signal.reason)
  exchange.request.signal.addEventListener('abort', left)
  const ask = async (run: Run): Promise<RunRequest> => {
    const { signal } = run
    const request = await readRequest(service, exchange, signal, readResponseRequest)
    const making = new Making(service, exchange, run, request)
    if (!request.background) return making.inForeground()
    // Once its id is told it no longer matters whether anybody waits.
    return making.inBackground(client, () => exchange.request.signal.removeEventListener('abort', left))
  }
  return answering(service, exchange, ask, client.signal)
}

/** One response from a request that has been read. */
class Making {
  readonly #service: Service
  readonly #exchange: Exchange
  readonly #run: Run
  readonly #request: ResponseRequest
  /** What the request brought; until its run has its place, without what it only names. */
  #own: readonly StoredItem[]
  readonly #id = newId('resp_')
  readonly #stores: boolean
  /** Filled until the first part has come. */
  readonly #headers: Record<string, string> = {}
  #made: ResponseProgress | undefined

  constructor(service: Service, exchange: Exchange, run: Run, request: ResponseRequest) {
    this.#service = service
    this.#exchange = exchange
    this.#run = run
    this.#request = request
    this.#own = request.input.filter((item) => item.type !== 'item_reference')
    this.#stores = request.store ?? service.responses.always
    this.#nameSkipped(request.tools)
  }

  inForeground(): RunRequest {
    if (!this.#request.stream) return this.#answering(new WholeResponse(this.#progress(), this.#keep))
    const events = new ResponseEvents(this.#keep)
    return this.#answering(events.of(this.#progress(events.hear)))
  }

  /** `told` is called with the first answer; from then on it is `client` that ends it. */
  inBackground(client: AbortController, told: () => void): RunRequest {
    const { background } = this.#service.responses
    const sofar = () => this.#kept(progress.resource)
    const running = new BackgroundResponse(ownerOf(this.#exchange), client, sofar)
    const progress = this.#progress(running.hear)
    let begun: Promise<void> | undefined
    const over = async () => {
      // What is written last is its end.
      await begun
      await this.#keep(progress.resource)
      running.end()
      letGo(background)
    }
    const early = async (): Promise<RouteResponse> => {
      told()
      background.set(this.#id, running)
      progress.queued()
      const queued = progress.resource
      // Whoever comes back once this process was killed hears what became of it.
      begun = this.#put(queued)
      await begun
      if (!this.#request.stream) return jsonResponse(queued, this.#headers)
      return { status: 200, body: running.follow(-1), headers: { ...SSE_HEADERS, ...this.#headers } }
    }
    return {
      ...this.#answering(new WholeResponse(progress, over)),
      early,
      failed: async (error) => {
        progress.fail(error, this.#run.answer?.usage)
        await over()
      },
    }
  }

  /** The answer is given whether or not it can be kept. */
  readonly #keep: KeepResponse = async (response) => {
    await this.#stored(this.#append(response))
    if (this.#stores) await this.#put(response)
  }

  #put(response: ResponseResource): Promise<void> {
    return this.#stored(this.#service.responses.store.put(this.#kept(response)))
  }

  async #stored(work: Promise<void>): Promise<void> {
    const { log, patience } = this.#service
    try {
      await inTime(work, patience)
    } catch (error) {
      log({ type: 'fault', message: `The response ${this.#id} could not be stored.`, error })
    }
  }

  #kept(response: ResponseResource): KeptResponse {
    return { ...ownerOf(this.#exchange), response, input: this.#own }
  }

  /** A turn becomes part of the conversation once it has been answered; one that failed may be asked again. */
  async #append({ status, output }: ResponseResource): Promise<void> {
    const id = this.#request.conversationId
    if (id === undefined || (status !== 'completed' && status !== 'incomplete')) return
    const longer = (kept: KeptConversation) => ({ ...kept, items: joinedItems(kept.items, [...this.#own, ...output]) })
    const { conversations, patience } = this.#service
    const waiting = new LinkedAbort(new AbortController().signal, patience)
    try {
      // Without a turn of its own: who is told that it is completed is to find it there.
      await conversations.change(ownerOf(this.#exchange), id, longer, waiting)
    } finally {
      waiting.dispose()
    }
  }

  #progress(hear?: ConstructorParameters<typeof ResponseProgress>[1]): ResponseProgress {
    const { model, echo, sealThoughts, tools } = this.#request
    const settings = { model, echo: { ...echo, store: this.#stores }, sealThoughts, tools }
    this.#made = new ResponseProgress({ id: this.#id, createdAt: seconds(), ...settings }, hear)
    return this.#made
  }

  #answering(reply: Reply): RunRequest {
    return {
      spec: this.#spec(),
      context: this.#context,
      reply,
      id: this.#id,
      ignored: this.#request.ignored,
      headers: this.#headers,
    }
  }

  readonly #context = async (): Promise<Pick<CallSpec, 'messages'> & Partial<CallSpec>> => {
    const { own, messages, tools: earlier } = await contextOf(this.#service, this.#exchange, this.#run, this.#request)
    this.#own = own
    const tools = this.#request.toolsAfter(earlier)
    this.#made?.knows(tools)
    this.#nameSkipped(tools)
    return { ...this.#calling(tools), messages: this.#fitting(messages) }
  }

  #fitting(messages: CallSpec['messages']): CallSpec['messages'] {
    if (this.#request.truncation !== 'auto') return messages
    // Here, and not once it has been sent to the model as a whole.
    const model = this.#service.engine.models.find(({ id }) => id === this.#request.model)
    return withoutOldest(messages, model?.contextLength)
  }

  #nameSkipped({ skipped }: ResponseTools): void {
    if (skipped.length > 0) this.#headers['x-skipped-tools'] = skipped.join(', ')
  }

  #calling({ tools, toolChoice, parallelToolCalls, parametersOf: parameters }: ResponseTools) {
    const { form, thinkingField } = this.#request
    const fields = { ...withNames(RESPONSE_FIELDS, form.outputField, thinkingField), parameters }
    return { tools, toolChoice, parallelToolCalls, fields }
  }

  #spec(): CallSpec {
    const { model, maxTokens, ending, sampling, topLogprobs, form, truncation } = this.#request
    const { tools, templateOptions, thinkingBudget, evidence } = this.#request
    return {
      model,
      messages: [],
      n: 1,
      maxTokens,
      ...ending,
      sampling,
      topLogprobs,
      output: form.output,
      ...this.#calling(tools),
      templateOptions,
      ...(thinkingBudget !== undefined && { thinkingBudget }),
      ...(evidence && { evidence }),
      ...(truncation === 'auto' && {
        shortened: shortener(() => findModel(this.#service.engine, model).contextLength),
      }),
    }
  }
}

/** As much as a sum may have: a conversation is to become shorter. */
const MOST_TOKENS = 1024
const SUMMARY_REQUEST: ChatMessage = {
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
      id: newId('resp_'),
      ignored: request.ignored,
      reply,
      async context() {
        const { messages, items } = await contextOf(service, exchange, run, request)
        // A sum has no tools.
        reply.kept = [
          ...items.filter(({ type }) => type === 'additional_tools'),
          ...items.filter((item) => item.type === 'message' && item.role === 'user'),
        ]
        reply.open = callsWithoutResult(items)
        return { messages: [...messages, SUMMARY_REQUEST] }
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
  /** Calls whose results may come later. */
  open: readonly StoredItem[] = []

  whole({ id, created }: ReplyHead, { choices, usage }: Answer): unknown {
    const sum = { type: 'compaction', id: itemId('cmp'), encrypted_content: sealed(choices[0]!.text.trim()) }
    const output = [...this.kept, sum, ...this.open]
    return { id, object: 'response.compaction', created_at: created, output, usage: wireResponseUsage(usage) }
  }
}

/** `POST responses/input_tokens`: what a request would have a model read, as its template writes it. */
export const countInputTokens: Route = (service, exchange) =>
  once(service, exchange, async (run) => {
    const request = await readRequest(service, exchange, run.signal, readResponseRequest)
    const ask = async () => {
      const { messages, tools } = await contextOf(service, exchange, run, request)
      return { ...request, ...request.toolsAfter(tools), messages, output: request.form.output }
    }
    const body = (tokens: number) => ({ object: 'response.input_tokens', input_tokens: tokens })
    return counting(service, exchange, request, ask, body)
  })
