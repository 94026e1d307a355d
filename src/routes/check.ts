import { V1Error } from '../errors.js'
import type { AnswerChoice } from '../wire/answer.js'
import type { CallSpec } from '../wire/reply.js'
import type { OutputConstraint } from './constrain.js'

/** Throws a 500 for a choice that is not what the request demands. */
export function checkChoice(
  choice: AnswerChoice,
  { sampling }: Pick<CallSpec, 'sampling'>,
  constraint: OutputConstraint,
): void {
  const fault = faultOf(choice, constraint)
  if (fault === undefined) return
  // Clients repeat a 500 by themselves. That helps where chance may choose better the next time; with a seed, without a
  // temperature, or under the same limit of tokens, it would only take as long again to fail as before.
  const same = sampling.seed !== undefined || sampling.temperature === 0 || choice.finish === 'length'
  throw new V1Error(500, 'The model did not produce a document that satisfies the schema.', {
    code: 'invalid_output',
    headers: { 'x-should-retry': String(!same) },
    cause: new Error(fault),
  })
}

function faultOf(
  { text, toolCalls, finish }: AnswerChoice,
  { check, toolChecks }: OutputConstraint,
): string | undefined {
  const cut = finish === 'length'
  if (check && !(toolCalls.length > 0 && text === '') && !(cut && !check.strict)) {
    const fault = check.faultOf(text)
    if (fault !== undefined) return fault
  }
  for (const call of toolCalls) {
    const fault = call && toolChecks.get(call.name)?.faultOf(call.arguments)
    if (fault !== undefined) return `${call!.name}: ${fault}`
  }
  return undefined
}
