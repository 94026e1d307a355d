import { V1Error } from '../../src/contract/errors.js'

/** How sure the model was of a value, and where the text says it. */
export interface ValueEvidence {
  /** The model's probability of this value among all that the schema allows there. */
  readonly confidence: number
  /** The second most likely value, if there are few. */
  readonly runnerUp?: { readonly value: string | number | boolean | null; readonly probability: number }
  /** How likely it was that there is no value, if the schema allows that. */
  readonly pNull?: number
  /** Where the text says it, in UTF-16 code units; absent: nowhere, or in other words. */
  readonly source?: { readonly start: number; readonly end: number }
}

/** For each string, number, boolean and null of a document, by JSON pointer. */
export type EvidenceOf<Document> = { readonly [Pointer in PointerIn<Document>]?: ValueEvidence }

/** What is nested deeper is not followed. */
type Deepest = 6

/** The JSON pointers of the values that a document of this type may have. */
export type PointerIn<Document, Depth extends readonly unknown[] = []> = unknown extends Document
  ? string
  : Depth['length'] extends Deepest
    ? string
    : Document extends readonly (infer Item)[]
      ? `/${number}${PointerIn<Item, [...Depth, 0]>}`
      : Document extends object
        ? {
            [Name in keyof Document & string]-?: `/${Escaped<Name>}${PointerIn<
              Exclude<Document[Name], undefined>,
              [...Depth, 0]
            >}`
          }[keyof Document & string]
        : ''

/** As RFC 6901 writes a name. */
type Escaped<Name extends string> = Name extends `${infer Before}~${infer After}`
  ? `${EscapedSlashes<Before>}~0${Escaped<After>}`
  : EscapedSlashes<Name>
type EscapedSlashes<Name extends string> = Name extends `${infer Before}/${infer After}`
  ? `${Before}~1${EscapedSlashes<After>}`
  : Name

/** As a /v1 tells it. */
export type EvidenceReply = Readonly<
  Record<
    string,
    {
      readonly confidence: number
      readonly runner_up?: NonNullable<ValueEvidence['runnerUp']>
      readonly p_null?: number
      readonly source?: { readonly message: number; readonly start: number; readonly end: number }
    }
  >
>

/** Of the one text that was read, which is the message `text`: what the instructions say is no source. */
export function evidenceOf(reply: EvidenceReply, text: number): Readonly<Record<string, ValueEvidence>> {
  return Object.fromEntries(
    Object.entries(reply).map(([pointer, { confidence, runner_up: runnerUp, p_null: pNull, source }]) => [
      pointer,
      {
        confidence,
        ...(runnerUp && { runnerUp }),
        ...(pNull !== undefined && { pNull }),
        ...(source?.message === text && { source: { start: source.start, end: source.end } }),
      },
    ]),
  )
}

/** A service that does not know `evidence` answers without a word of it. */
export function checkEvidenceReply(reply: EvidenceReply | undefined, document: unknown): void {
  if (reply !== undefined || !hasValues(document)) return
  const message = "The answer has no evidence: this /v1 does not support 'evidence'."
  throw new V1Error(502, message, { code: 'invalid_output', param: 'evidence' })
}

const hasValues = (document: unknown): boolean =>
  typeof document !== 'object' || document === null || Object.values(document).some(hasValues)
