import type { ModelInfo, Usage } from '../../contract/index.js'
import { checkUsage } from '../wire/parts.js'
import { Answer } from '../wire/reply.js'
import { knownModel } from './loader.js'
import { Run } from './run.js'
import { type Exchange, jsonResponse, noticeHeaders, type RouteResponse, type Service } from './service.js'

/** A request to a model that has one result. */
export interface SingleRequest {
  readonly model: string
  readonly ignored?: readonly string[]
  /** How many answers are made of it side by side, where an engine is asked for more than one. */
  readonly weight?: number
  /** Nothing is counted of it, whatever becomes of it: the model computes nothing. */
  readonly free?: true
  /** Throws for what this model cannot do. */
  check?(model: ModelInfo): void
  /** The answer, and the tokens that went into it. */
  act(signal: AbortSignal): Promise<{ readonly body: unknown; readonly usage?: Usage }>
}

/** One request that has one result: limited, queued, counted and logged as every other. */
export async function once(
  service: Service,
  exchange: Exchange,
  ask: (run: Run) => Promise<SingleRequest>,
): Promise<RouteResponse> {
  const run = new Run(service, exchange)
  try {
    const { model, ignored = [], weight = 1, free, check, act } = await ask(run)
    check?.(await knownModel(service.engine, model, run.signal))
    if (!free) run.model = model
    await run.enter(weight)
    const loading = service.loader.ready(model, run.signal, run.arrived)
    if (loading) {
      run.stepAside()
      await loading
      await run.enter(weight)
    }
    const { body, usage } = await run.during(act(run.signal))
    run.answer = new Answer(0)
    if (usage !== undefined) {
      checkUsage(usage)
      run.answer.usage = usage
    }
    await run.succeed()
    return jsonResponse(body, noticeHeaders(ignored, []))
  } catch (error) {
    throw await run.fail(error)
  }
}
