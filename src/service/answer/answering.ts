import {
  type ChatCall,
  type ConstrainCall,
  type Constrained,
  commonSampling,
  type ModelInfo,
  type Part,
  V1Error,
} from '../../contract/index.js'
import { quoteSource } from '../../grammar/index.js'
import { abortable, atMost, inTurns } from '../../platform/index.js'
import { type Broken, type PacedSource, type Patience, paced } from '../stream/paced.js'
import { SSE_HEADERS, SSE_SIGN } from '../stream/sse.js'
import { seconds } from '../wire/ids.js'
import {
  Answer,
  type AnswerChoice,
  type CallSpec,
  type ModelRequest,
  type ReplyHead,
  type StreamReply,
  type WholeReply,
} from '../wire/reply.js'
import { checkCapable, withoutHints } from './capable.js'
import { findModel, knownModel } from './loader.js'
import { Run } from './run.js'
import { type Exchange, jsonResponse, nextOf, noticeHeaders, type RouteResponse, type Service } from './service.js'

/** A request that has been read, and the response of one that goes on without its client. */
export interface RunRequest extends ModelRequest {
  /**
   * The conversation, where it is more than the request itself brought, and what comes with it: it is put together once
   * the run has its place, and stands over `spec`.
   */
  readonly context?: () => Promise<Pick<CallSpec, 'messages'> & Partial<CallSpec>>
  /** What the client is told once the run stands in line and is not to be refused, while it goes on without it. */
  readonly early?: () => RouteResponse | Promise<RouteResponse>
  /** Hears why a run that went on without its client came to nothing. */
  readonly failed?: (error: V1Error) => Promise<void>
}

/**
 * One request to a model from its first byte to its last, whichever endpoint it came to: `ask` reads it, under the run's
 * signal. The run lives as long as `signal`, which is that of the exchange's request where none is given.
 */
export async function answering(
  service: Service,
  exchange: Exchange,
  ask: (run: Run) => Promise<RunRequest>,
  signal?: AbortSignal,
): Promise<RouteResponse> {
  const run = new Run(service, exchange, signal)
  let request: RunRequest
  try {
    request = await ask(run)
  } catch (error) {
    throw await run.fail(error)
  }
  const { early, failed } = request
  if (!early) return responseTo(service, run, request, exchange.caller.id)
  return new Promise((resolve, reject) => {
    let isTold = false
    const inLine = () => {
      resolve(early())
      isTold = true
    }
    responseTo(service, run, request, exchange.caller.id, inLine)
      // Whoever still waits hears why it was refused, and may try again.
      .catch((error: V1Error) => (isTold ? failed?.(error) : reject(error)))
      .catch((error: unknown) => notKept(service, request.id, error))
  })
}

async function responseTo(
  service: Service,
  run: Run,
  read: RunRequest,
  caller: string,
  inLine?: () => void,
): Promise<RouteResponse> {
  const { reply, id, headers: own, context } = read
  try {
    const model = await knownModel(service.engine, read.spec.model, run.signal)
    const bare: ModelRequest = withoutHints(model, read)
    checkCapable(model, bare.spec)
    run.model = model.id
    const prepare = async (): Promise<Prepared> => {
      const spec = context ? { ...bare.spec, ...(await abortable(context(), run.signal)) } : bare.spec
      if (context) checkCapable(model, spec)
      return {
        request: { ...bare, spec },
        constraint: await constrained(service, spec, { id, caller, signal: run.signal }),
      }
    }
    const entering = run.enter(read.spec.n)
    const ahead = inLine && (await preparedAhead(run, entering, prepare))
    inLine?.()
    const headersFor = ({ request, constraint }: Prepared) => ({
      ...noticeHeaders(request.ignored, constraint.notEnforced),
      ...own,
    })
    const calling = async (): Promise<Called> => {
      await entering
      let { request, constraint } = ahead ?? (await prepare())
      const loading = service.loader.ready(model.id, run.signal, run.arrived)
      if (loading) {
        run.stepAside()
        await loading
        await run.enter(read.spec.n)
        // Some of what it cannot do a model says only once it is there.
        const loaded = findModel(service.engine, model.id)
        request = withoutHints(loaded, request)
        checkCapable(loaded, request.spec)
      }
      const { spec } = request
      const head = headOf(service, spec.model, id)
      // First: nobody would hear of what was begun if they cannot be made.
      const headers = headersFor({ request, constraint })
      const call = callOf(spec, model, { id, caller, signal: run.signal }, constraint, service.describeSchema)
      return { head, first: begun(run, call, spec, constraint), headers }
    }
    if (!reply.stream) {
      const { head, first, headers } = await calling()
      return await collected(run, await first, head, reply, headers)
    }
    // Before the first part an engine may still refuse; only then are status and headers settled, or when a reader of
    // events would be taken for dead by what lies between: its place in the line, and the prompt.
    const sign = reply.headers ? undefined : SSE_SIGN
    const called = calling()
    const first = called.then((each) => each.first)
    // Nobody may ever read, and so hear of it.
    first.catch(() => undefined)
    const stands = sign && entering && (await atMost(sign.ms, entering)) === 'late'
    const { head, headers } = stands
      ? { head: headOf(service, bare.spec.model, id), headers: headersFor(await prepare()) }
      : await called
    const begin = sign && (stands || (await atMost(sign.ms, first)) === 'late') ? sign.text : ''
    if (begin === '') await first
    const events = new ReplyEvents(run, called, reply, head, caller)
    return {
      status: 200,
      body: paced(events, patience(service), sign, begin),
      headers: { ...(reply.headers ?? SSE_HEADERS), ...headers },
      streams: true,
    }
  } catch (error) {
    throw await run.fail(error)
  }
}

/** What the engine has been asked for, and the head of the answer to it. */
interface Called {
  readonly head: ReplyHead
  readonly first: Promise<Part>
  readonly headers: Readonly<Record<string, string>>
}

/** All that is known of a request without its model. */
interface Prepared {
  readonly request: ModelRequest
  readonly constraint: Constrained
}

/**
 * While it waits for its place: whoever is told that an answer is being made hears first why it would be refused. Undefined
 * where it has to wait, since what it goes on from may change until then, and is much to hold.
 */
async function preparedAhead(
  run: Run,
  entering: Promise<void> | undefined,
  prepare: () => Promise<Prepared>,
): Promise<Prepared | undefined> {
  const { held } = run
  const preparing = prepare()
  const prepared = await Promise.race([preparing, Promise.resolve(entering).then(() => preparing)])
  if (!entering) return prepared
  if (run.held > held) run.hold(held - run.held)
  return undefined
}

function notKept({ log }: Service, id: string, error: unknown): void {
  log({ type: 'fault', message: `The end of response ${id} could not be stored.`, error })
}

/** The first part. Where the conversation is too long and may be shortened, it is asked again with less of it. */
async function begun(run: Run, call: ChatCall, spec: CallSpec, constraint: Constrained): Promise<Part> {
  for (let current = call; ; ) {
    try {
      run.begin(current, (choice) => checkChoice(choice, spec, constraint), spec.prompts)
      // There is one: a call has a choice at least, and an engine that ends before all are finished is an error. How long
      // the prompt is, which may be told first, is in the answer, and nothing to be sent by itself.
      for (let part = await run.next(); ; part = await run.next()) if (part!.type !== 'usage') return part!
    } catch (error) {
      const tooLong = V1Error.is(error) && error.code === 'context_length_exceeded'
      const messages = tooLong ? spec.shortened?.(current.messages) : undefined
      if (!messages) throw error
      current = { ...current, messages }
    }
  }
}

function patience({ stallMs }: Service): Patience | undefined {
  if (stallMs === undefined) return undefined
  const message = `The client read nothing of its answer for ${stallMs} ms.`
  return { ms: stallMs, gaveUp: () => new V1Error(408, message, { code: 'stalled' }) }
}

function headOf(service: Service, model: string, id: string): ReplyHead {
  return {
    id,
    created: seconds(),
    model,
    calledAt: performance.now(),
    // Asked for again: an engine may know it only once the model is loaded.
    fingerprint: findModel(service.engine, model).fingerprint ?? service.fingerprints.get(model),
  }
}

/** Each field by its name: the types ask for all of them, and what has one shape is quick to make and to read. */
function callOf(
  spec: CallSpec,
  { capabilities }: ModelInfo,
  { id, caller, signal }: Pick<ChatCall, 'id' | 'caller' | 'signal'>,
  { grammar, toolGrammar }: Constrained,
  describeSchema: boolean,
): Complete<ChatCall> {
  return {
    id,
    model: spec.model,
    messages: spec.messages,
    prompt: spec.prompt,
    signal,
    caller,
    n: spec.n,
    suffix: spec.suffix,
    maxTokens: spec.maxTokens,
    stop: spec.stop,
    minTokens: spec.minTokens,
    stopTokens: spec.stopTokens,
    ignoreEnds: spec.ignoreEnds,
    returnTokens: spec.returnTokens,
    // What only some engines take, and would change nothing, need not be known to the others.
    sampling: capabilities?.sampling ? spec.sampling : commonSampling(spec.sampling),
    topLogprobs: spec.topLogprobs,
    tokensAsIds: spec.tokensAsIds,
    promptLogprobs: spec.promptLogprobs,
    output: spec.output,
    grammar,
    tools: spec.tools,
    toolChoice: spec.toolChoice,
    parallelToolCalls: spec.parallelToolCalls,
    toolGrammar,
    templateOptions: spec.templateOptions,
    thinkingBudget: spec.thinkingBudget,
    describeSchema,
    evidence: spec.evidence,
  }
}

/** With every field said, if only to be none. */
type Complete<T> = { readonly [F in keyof Required<T>]: T[F] }

async function collected(
  run: Run,
  first: Part,
  head: ReplyHead,
  reply: WholeReply,
  headers: Readonly<Record<string, string>>,
): Promise<RouteResponse> {
  reply.begin?.(head, run.answer!)
  for (let part: Part | undefined = first; part; part = await run.next()) reply.part?.(part)
  const whole = await reply.whole(head, run.answer!)
  await run.succeed()
  return jsonResponse(whole, headers)
}

interface Told {
  readonly pieces: Generator<string, void, void>
  readonly over: () => void
}

/** A streamed answer, part by part, up to its last word or an error. */
export class ReplyEvents implements PacedSource {
  readonly #run: Run
  readonly #reply: StreamReply
  readonly #head: ReplyHead
  readonly #caller: string
  #called: Promise<Called> | undefined
  /** What is sent before anything else. */
  #opening = ''
  #deliver: Parameters<PacedSource['ask']>[0] = () => {}
  /** What is still to be sent of what was told, and how that goes on. */
  #more: Told | undefined

  /** `head`: that of an answer that comes to nothing before it is called for. */
  constructor(run: Run, called: Promise<Called>, reply: StreamReply, head: ReplyHead, caller: string) {
    this.#run = run
    this.#called = called
    this.#reply = reply
    this.#head = head
    this.#caller = caller
  }

  ask(deliver: Parameters<PacedSource['ask']>[0]): void {
    this.#deliver = deliver
    if (this.#more) return void this.#sayMore(this.#more)
    const called = this.#called
    this.#called = undefined
    if (called === undefined) this.#run.ask(this.#onPart, this.#failed)
    else this.#first(called).then(this.#onPart, this.#failed)
  }

  async #first(called: Promise<Called>): Promise<Part> {
    let head = this.#head
    try {
      const each = await called
      head = each.head
      return await each.first
    } finally {
      this.#opening = this.#reply.begin(head, this.#run.answer ?? new Answer(1))
    }
  }

  cancel(reason: unknown): void {
    this.#run.leave(reason)
  }

  readonly #onPart = (part: Part | undefined): void => {
    let events: string
    try {
      if (part === undefined) {
        void this.#end().catch(this.#failed)
        return
      }
      events = this.#reply.part(part)
    } catch (error) {
      // An engine may have put into a part what no event can say.
      void this.#failed(error)
      return
    }
    this.#say(events, false)
  }

  async #end(): Promise<void> {
    const words = await this.#reply.end()
    await this.#run.succeed()
    this.#say(words, true)
  }

  readonly #failed = async (error: unknown): Promise<void> => {
    const reply = await this.#reply.failed(await this.#run.fail(error))
    const { client } = this.#run
    // Within one process its reader may still be there: it is told what `fetch` tells whoever aborts it.
    this.#say(reply, true, client.aborted ? { reason: client.reason } : undefined)
  }

  #say(events: string, last: boolean, broken?: Broken): void {
    const opening = this.#opening
    this.#opening = ''
    const pieces = broken ? undefined : this.#reply.more?.()
    if (pieces) this.#more = { pieces, over: () => (last ? this.#deliver('', true) : this.ask(this.#deliver)) }
    this.#deliver(opening + events, last && !pieces, broken)
  }

  async #sayMore({ pieces, over }: Told): Promise<void> {
    const piece = await inTurns(nextOf(pieces), undefined, this.#caller)
    if (piece !== undefined) return this.#deliver(piece, false)
    this.#more = undefined
    over()
  }
}

type ConstrainingSpec = Pick<CallSpec, 'model' | 'output' | 'tools' | 'toolChoice' | 'fields' | 'messages'>

const NOTHING: Constrained = { notEnforced: [], faultOf: () => undefined }

/** What a request demands of its answer, compiled where the engine computes. */
export async function constrained(
  { engine, constraints }: Service,
  { model, output, tools, toolChoice, fields, messages }: ConstrainingSpec,
  { id, caller, signal }: Pick<ConstrainCall, 'id' | 'caller' | 'signal'>,
): Promise<Constrained> {
  if (output.type === 'text' && toolChoice === 'none') return NOTHING
  const places = { format: fields.format, tools: tools.map((_, i) => fields.parameters(i)) }
  const quote = quoteSource({ output, tools: toolChoice === 'none' ? [] : tools }, messages)
  const wanted = { output, tools, toolChoice, places, ...(quote && { quote }) }
  const asked = engine.constrain?.({ ...wanted, ...constraints.own, id, model, caller, signal })
  const theirs = asked && (await abortable(Promise.resolve(asked), signal))
  return theirs ?? inTurns(constraints.of({ ...wanted, caller }), signal, caller)
}

/** Throws a 500 for a choice that is not what the request demands; at once, where nobody else has to be asked. */
export function checkChoice(
  choice: AnswerChoice,
  spec: Pick<CallSpec, 'sampling'>,
  constraint: Constrained,
): void | Promise<void> {
  const { text, toolCalls, finish } = choice
  const calls = toolCalls.flatMap((call) => (call ? [{ name: call.name, arguments: call.arguments }] : []))
  const fault = constraint.faultOf({ text, toolCalls: calls, cut: finish === 'length' })
  if (typeof fault === 'object') return fault.then((found) => refuse(found, choice, spec))
  refuse(fault, choice, spec)
}

function refuse(fault: string | undefined, { finish }: AnswerChoice, { sampling }: Pick<CallSpec, 'sampling'>): void {
  if (fault === undefined) return
  // Clients repeat a 500 by themselves. That helps where chance may choose better the next time; with a seed, without a
  // temperature, or under the same limit of tokens, it would only take as long again to fail as before.
  const same = sampling.seed !== undefined || sampling.temperature === 0 || finish === 'length'
  throw new V1Error(500, 'The model did not produce a document that satisfies the schema.', {
    code: 'invalid_output',
    headers: { 'x-should-retry': String(!same) },
    cause: new Error(fault),
  })
}
