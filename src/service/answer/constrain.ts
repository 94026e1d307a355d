import { type ConstrainCall, type Constrained, V1Error } from '../../contract/index.js'
import { quoteSource } from '../../grammar/index.js'
import { inTurns } from '../../platform/index.js'
import type { AnswerChoice, CallSpec } from '../wire/reply.js'
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
