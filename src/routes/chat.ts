import type { ChatCall, Part } from '../engine.js'
import { readableOf } from '../stream/readable.js'
import { SSE_DONE, SSE_HEADERS, sseEvent } from '../stream/sse.js'
import type { AnswerHead } from '../wire/answer.js'
import { type ChatRequest, readChatRequest } from '../wire/chat-request.js'
import { ChunkWriter } from '../wire/chunks.js'
import { completionOf, Logprobs } from '../wire/completion.js'
import { completionId } from '../wire/ids.js'
import { readJson } from './body.js'
import { checkChoice } from './check.js'
import type { Constraint } from './constrain.js'
import { findModel, lookedAround } from './models.js'
import { noticeHeaders } from './notice.js'
import { Run } from './run.js'
import { type Answered, type Exchange, jsonAnswer, type Service } from './service.js'

export async function chat(service: Service, exchange: Exchange): Promise<Answered> {
  const run = new Run(service, exchange)
  try {
    const request = readChatRequest(await readJson(exchange.request, service.bodyLimit, run.signal))
    await lookedAround(service.engine, run.signal)
    findModel(service.engine, request.model)
    run.model = request.model
    const constraint = service.constraints.of(request)
    const loading = service.loader.ready(request.model, run.signal)
    if (loading) await loading
    await run.enter()
    const head = headOf(service, request.model)
    run.begin(callOf(request, head.id, run.signal, constraint, service.describeSchema))
    // Before the first part an engine may still refuse; only then are status and headers settled.
    const first = await nextPart(run, request, constraint)
    const headers = noticeHeaders(request.ignored, constraint.notEnforced)
    if (request.stream) return streamed(run, first, head, request, constraint, headers)
    return await collected(run, first, head, request, constraint, headers)
  } catch (error) {
    throw await run.fail(error)
  }
}

function headOf(service: Service, model: string): AnswerHead {
  return {
    id: completionId(),
    created: Math.floor(Date.now() / 1000),
    model,
    // Asked for again: an engine may know it only once the model is loaded.
    fingerprint: findModel(service.engine, model).fingerprint ?? service.fingerprints.get(model),
  }
}

function callOf(
  request: ChatRequest,
  id: string,
  signal: AbortSignal,
  { grammar, toolGrammar }: Constraint,
  describeSchema: boolean,
): ChatCall {
  const { model, messages, n, maxTokens, stop, sampling, topLogprobs, output } = request
  const { tools, toolChoice, parallelToolCalls, templateOptions } = request
  return {
    id,
    model,
    messages,
    signal,
    n,
    maxTokens,
    stop,
    sampling,
    topLogprobs,
    output,
    grammar,
    tools,
    toolChoice,
    parallelToolCalls,
    toolGrammar,
    templateOptions,
    describeSchema,
  }
}

/** A choice is checked before anybody hears that it is finished. */
async function nextPart(run: Run, request: ChatRequest, constraint: Constraint): Promise<Part | undefined> {
  const part = await run.next()
  if (part?.type === 'finish') checkChoice(run.answer!.choices[part.choice]!, request, constraint)
  return part
}

async function collected(
  run: Run,
  first: Part | undefined,
  head: AnswerHead,
  request: ChatRequest,
  constraint: Constraint,
  headers: Readonly<Record<string, string>>,
): Promise<Answered> {
  const logprobs = request.topLogprobs === undefined ? undefined : new Logprobs(request.n)
  for (let part = first; part; part = await nextPart(run, request, constraint)) logprobs?.take(part)
  await run.succeed()
  return jsonAnswer(completionOf(head, run.answer!, logprobs), headers)
}

function streamed(
  run: Run,
  first: Part | undefined,
  head: AnswerHead,
  request: ChatRequest,
  constraint: Constraint,
  headers: Readonly<Record<string, string>>,
): Answered {
  const writer = new ChunkWriter(head, run.answer!, request)
  let held = first
  let over = false
  const pull = async (): Promise<string | undefined> => {
    const chunks: string[] = []
    // A part may say nothing that a chunk could carry.
    while (chunks.length === 0) {
      const part = held ?? (await nextPart(run, request, constraint))
      held = undefined
      if (!part) return await last()
      writer.write(part, chunks)
    }
    return chunks.map(sseEvent).join('')
  }
  const last = async (): Promise<string> => {
    over = true
    const chunks: string[] = []
    writer.end(chunks)
    await run.succeed()
    return chunks.map(sseEvent).join('') + SSE_DONE
  }
  const body = readableOf({
    async pull() {
      if (over) return undefined
      try {
        return await pull()
      } catch (error) {
        over = true
        return sseEvent(JSON.stringify(await run.fail(error)))
      }
    },
    cancel: (reason) => run.leave(reason),
  })
  return { status: 200, body, headers: { ...SSE_HEADERS, ...headers }, streams: true }
}
