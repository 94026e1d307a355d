/** Fields of a text by an engine that points: all of them in one reading; those that it is sure of are not written. */
import type { ExtractField, FieldAnswer, PointedAnswer, Usage } from '../../../contract/index.js'
import { closestAround, inTurns, type Slices } from '../../../platform/index.js'
import type { Service } from '../../answer/service.js'
import { type AnswerStretch, answerOf, type Readable, Readables, readableKindOf, saysOne } from './extracted.js'
import { type FieldsCall, instructionsFor } from './extracting.js'

export interface PointedFields {
  /** In the order of the fields; undefined: it has to be written. */
  readonly answers: readonly (FieldAnswer | undefined)[]
  readonly usage: Usage
  readonly fingerprint?: string
}

/** Undefined: all of them have to be written. A list has many stretches, of which a reading points at one. */
export async function pointedFields({ engine }: Service, call: FieldsCall): Promise<PointedFields | undefined> {
  const { id, model, signal, caller, state: text, fields } = call
  const singles = fields.filter(({ type }) => type !== 'list')
  if (singles.length === 0) return undefined
  const questions = singles.map((field) => {
    return { name: field.name, instructions: instructionsFor(field), isNumber: readableKindOf(field) === 'number' }
  })
  const pointed = await engine.point?.({ id, model, signal, caller, text, questions })
  if (!pointed) return undefined
  const readables = new Readables(call)
  const all = fields.map(async (field) => {
    const answer = pointed.answers[singles.indexOf(field)]
    return answer && inTurns(answered(field, call, answer, await readables.of(field)), signal, caller)
  })
  const answers = await Promise.all(all)
  const { usage, fingerprint } = pointed
  return { answers, usage, ...(fingerprint !== undefined && { fingerprint }) }
}

/** Undefined: the stretch says no such value. */
function* answered(
  field: ExtractField,
  call: FieldsCall,
  { start, end, probability: confidence, nothing: pNull }: PointedAnswer,
  readable: Readable = new Map(),
): Slices<FieldAnswer | undefined> {
  // Of `half past 3 pm` a model may point at `3 pm`.
  const stretch: AnswerStretch = { places: [closestAround([...readable.values()].flat(), { start, end })], confidence }
  if (!(yield* saysOne(field, stretch, call))) return undefined
  const found = pNull < field.nullThreshold ? [stretch] : undefined
  return yield* answerOf({ field, call, found, guess: [stretch], pNull })
}
