import type { ConstrainCall, Constrained } from '../engine.js'
import { inTurns } from '../platform/turns.js'
import type { CallSpec } from '../wire/reply.js'
import type { Service } from './service.js'

const NOTHING: Constrained = { notEnforced: [], faultOf: () => undefined }

/** What a request demands of its answer, compiled where the engine computes. */
export async function constrained(
  { engine, constraints }: Service,
  { model, output, tools, toolChoice, fields }: Pick<CallSpec, 'model' | 'output' | 'tools' | 'toolChoice' | 'fields'>,
  { id, caller, signal }: Pick<ConstrainCall, 'id' | 'caller' | 'signal'>,
): Promise<Constrained> {
  if (output.type === 'text' && toolChoice === 'none') return NOTHING
  const places = { format: fields.format, tools: tools.map((_, i) => fields.parameters(i)) }
  const asked = { output, tools, toolChoice, places }
  const theirs = await engine.constrain?.({ ...asked, ...constraints.own, id, model, caller, signal })
  return theirs ?? inTurns(constraints.of(asked), signal, caller)
}
