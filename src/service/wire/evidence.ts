import type { Evidence, OutputFormat, Part, Source } from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import { aBoolean, at, optional, unsupported } from './fields.js'

/** An extension, ours: what a value of the document rests on. */
export interface WireEvidence {
  readonly confidence: number
  readonly runner_up?: NonNullable<Evidence['runnerUp']>
  readonly p_null?: number
  readonly source?: Source
}

/** By JSON pointer. */
export type EvidenceOfDocument = Readonly<Record<string, WireEvidence>>

const EVIDENCE = 'evidence'

/** There only where it is wanted. `format`: the field that must ask for a document, whose values are told of. */
export function readEvidence(body: JsonObject, output: OutputFormat, format: string): { readonly evidence?: true } {
  if (!optional(body, EVIDENCE, '', aBoolean)) return {}
  if (output.type === 'json_schema' || output.type === 'json_object') return { evidence: true }
  throw unsupported(EVIDENCE, `Evidence needs a JSON answer: request one with '${format}'.`)
}

function wireEvidence({ confidence, runnerUp, pNull, source }: Evidence): WireEvidence {
  return {
    confidence,
    ...(runnerUp && { runner_up: runnerUp }),
    ...(pNull !== undefined && { p_null: pNull }),
    ...(source && { source }),
  }
}

/** What a part tells, under its pointer. */
export const evidenceIn = ({ evidence }: Part & { type: 'evidence' }): EvidenceOfDocument => ({
  [evidence.pointer]: wireEvidence(evidence),
})

/** What is known, with more of it added in its place: a document may have thousands of values. */
export const withEvidence = (known: EvidenceOfDocument = {}, more: EvidenceOfDocument): EvidenceOfDocument =>
  Object.assign(known, more)

const QUOTE = 'quote'

/**
 * An extension, ours: all strings of the document are to be stretches of what users and tools say. `holder` stands at
 * `path` and may have the field; `format` is the field that must ask for a document.
 */
export function withQuote(output: OutputFormat, holder: JsonObject, path: string, format: string): OutputFormat {
  if (!optional(holder, QUOTE, path, aBoolean)) return output
  if (output.type === 'json_schema' || output.type === 'json_object') return { ...output, quote: true }
  throw unsupported(at(path, QUOTE), `Quotes need a JSON answer: request one with '${format}'.`)
}
