import type { ChatCall, Part } from '../engine.js'
import { V1Error } from '../errors.js'
import { inTurns } from '../platform/turns.js'
import { type Patience, paced } from '../stream/paced.js'
import { SSE_HEADERS, sseEvent } from '../stream/sse.js'
import type { AnswerHead } from '../wire/answer.js'
import { type ChatRequest, readChatRequest } from '../wire/chat-request.js'
import { ChunkWriter } from '../wire/chunks.js'
import { completionOf, Logprobs } from '../wire/completion.js'
import { completionId } from '../wire/ids.js'
import { readJson } from './body.js'
import { ChatEvents } from './chat-events.js'
import { checkChoice } from './check.js'
import type { Constraint } from './constrain.js'
import { findModel, lookedAround } from './models.js'
import { noticeHeaders } from './notice.js'
import { Run } from './run.js'
import { type Answered, type Exchange, jsonAnswer, type Service } from './service.js'

export async function chat(service: Service, exchange: Exchange): Promise<Answered> {
  const run = new Run(service, exchange)
  try {
    const request = readChatRequest(await readJson(service, exchange, run.signal))
    await lookedAround(service.engine, run.signal)
    findModel(service.engine, request.model)
    run.model = request.model
    await run.enter()
    const constraint = await inTurns(service.constraints.of(request), run.signal)
    const loading = service.loader.ready(request.model, run.signal)
    if (loading) {
      run.stepAside()
      await loading
      await run.enter()
    }
    const head = headOf(service, request.model)
    const call = callOf(request, head.id, run.signal, constraint, service.describeSchema)
    run.begin(call, (choice) => checkChoice(choice, request, constraint))
    // Before the first part an engine may still refuse; only then are status and headers settled.
    const first = await run.next()
    const headers = noticeHeaders(request.ignored, constraint.notEnforced)
    if (!request.stream) return await collected(run, first, head, request, headers)
    const events = new ChatEvents(run, first, new ChunkWriter(head, run.answer!, request, sseEvent))
    const body = paced(events, patience(service))
    return { status: 200, body, headers: { ...SSE_HEADERS, ...headers }, streams: true }
  } catch (error) {
    throw await run.fail(error)
  }
}

function patience({ stallMs }: Service): Patience | undefined {
  if (stallMs === undefined) return undefined
  const message = `The client read nothing of its answer for ${stallMs} ms.`
  return { ms: stallMs, gaveUp: () => new V1Error(408, message, { code: 'stalled' }) }
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

async function collected(
  run: Run,
  first: Part | undefined,
  head: AnswerHead,
  request: ChatRequest,
  headers: Readonly<Record<string, string>>,
): Promise<Answered> {
  const logprobs = request.topLogprobs === undefined ? undefined : new Logprobs(request.n)
  for (let part = first; part; part = await run.next()) logprobs?.take(part)
  await run.succeed()
  return jsonAnswer(completionOf(head, run.answer!, logprobs), headers)
}
