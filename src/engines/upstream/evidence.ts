import { type Evidence, V1Error } from '../../contract/index.js'
import { brokenService } from './sent.js'

/** What another service of ours tells of values; anything may be missing from it. */
export type SentEvidence = Readonly<
  Record<
    string,
    | {
        readonly confidence?: unknown
        readonly runner_up?: { readonly value?: unknown; readonly probability?: unknown } | null
        readonly p_null?: unknown
        readonly source?: Readonly<Record<'message' | 'part' | 'start' | 'end', unknown>> | null
      }
    | null
    | undefined
  >
>

const UNKNOWN_FORM = 'sent evidence in an unknown form'

export function evidenceParts(sent: SentEvidence): Evidence[] {
  return Object.entries(sent).map(([pointer, entry]) => {
    const { confidence, runner_up: other, p_null: pNull, source } = entry ?? {}
    if (!isShare(confidence)) throw brokenService(UNKNOWN_FORM)
    return {
      ...{ pointer, confidence },
      ...(other && { runnerUp: runnerUpOf(other.value, other.probability) }),
      ...(isShare(pNull) && { pNull }),
      ...(source && { source: sourceOf(source) }),
    }
  })
}

function runnerUpOf(value: unknown, probability: unknown): NonNullable<Evidence['runnerUp']> {
  const isValue = value === null || ['string', 'number', 'boolean'].includes(typeof value)
  if (!isValue || !isShare(probability)) throw brokenService(UNKNOWN_FORM)
  return { value: value as NonNullable<Evidence['runnerUp']>['value'], probability }
}

function sourceOf({ message, part, start, end }: Readonly<Record<string, unknown>>): NonNullable<Evidence['source']> {
  if (![message, part, start, end].every((place) => Number.isSafeInteger(place) && Number(place) >= 0)) {
    throw brokenService(UNKNOWN_FORM)
  }
  return { message: Number(message), part: Number(part), start: Number(start), end: Number(end) }
}

export const isShare = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 1

/** A service that does not know `evidence` leaves it out of its answer without a word. */
export function checkEvidence(reported: boolean, text: string): void {
  if (reported || !hasValues(parsedOr(text))) return
  const message = 'The upstream service does not report evidence: leave evidence out.'
  throw new V1Error(400, message, { param: 'evidence', code: 'unsupported_parameter' })
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What is cut off is another's to complain of.
    return {}
  }
}

const hasValues = (document: unknown): boolean =>
  typeof document !== 'object' || document === null || Object.values(document).some(hasValues)
