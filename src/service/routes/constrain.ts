import type { ConstrainCall, Constrained } from '../../contract/index.js'
import { quoteSource } from '../../grammar/index.js'
import { inTurns } from '../../platform/index.js'
import type { CallSpec } from '../wire/reply.js'
import type { Service } from './service.js'

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
  const asked = { output, tools, toolChoice, places, ...(quote && { quote }) }
  const theirs = await engine.constrain?.({ ...asked, ...constraints.own, id, model, caller, signal })
  return theirs ?? inTurns(constraints.of(asked), signal, caller)
}
