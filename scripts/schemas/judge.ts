/** One schema with its labelled instances against the grammar. */

import { judge as judgeValue } from '../../src/grammar/judge.js'
import { compile, type Formats, SchemaError } from '../../src/grammar/structured.js'
import { textsOf } from './serialise.js'

export interface Case {
  readonly id: string
  readonly schema: unknown
  readonly tests: readonly { readonly valid: boolean; readonly data: unknown; readonly description?: string }[]
}

export type Verdict = 'right' | 'refused' | 'accepting' | 'rejecting' | 'crashed'

export interface Judgement {
  readonly id: string
  readonly verdict: Verdict
  /** The keyword at fault, of a refused schema; the error, of a crash. */
  readonly reason: string
  readonly compileMs: number
  readonly acceptMs: number
  /** Indices of instances on the wrong side of their label. */
  readonly accepted: readonly number[]
  readonly rejected: readonly number[]
  /** Likewise by the judge of values, which is what looks at a document before it is sent. */
  readonly misjudged: readonly number[]
}

/** `skip` holds the indices of disputed instances. */
export function judge(one: Case, skip: ReadonlySet<number>, formats: Formats = {}): Judgement {
  const started = performance.now()
  let grammar: ReturnType<typeof compile>
  try {
    grammar = compile(one.schema, { formats })
  } catch (error) {
    const compileMs = performance.now() - started
    const refusal = error instanceof SchemaError
    const reason = refusal ? `${error.keyword || '(schema)'}\t${error.message}` : String(error)
    return {
      id: one.id,
      verdict: refusal ? 'refused' : 'crashed',
      reason,
      compileMs,
      acceptMs: 0,
      accepted: [],
      rejected: [],
      misjudged: [],
    }
  }
  const compileMs = performance.now() - started
  const accepted: number[] = []
  const rejected: number[] = []
  const misjudged: number[] = []
  const before = performance.now()
  try {
    one.tests.forEach((test, i) => {
      if (skip.has(i)) return
      const passes = textsOf(one.schema, test.data).some((text) => grammar.accepts(text))
      if (passes && !test.valid) accepted.push(i)
      if (!passes && test.valid) rejected.push(i)
      if (judgeValue(one.schema, test.data, formats) !== test.valid) misjudged.push(i)
    })
  } catch (error) {
    return {
      id: one.id,
      verdict: 'crashed',
      reason: String(error),
      compileMs,
      acceptMs: 0,
      accepted: [],
      rejected: [],
      misjudged: [],
    }
  }
  const verdict = accepted.length > 0 ? 'accepting' : rejected.length > 0 ? 'rejecting' : 'right'
  return {
    id: one.id,
    verdict,
    reason: '',
    compileMs,
    acceptMs: performance.now() - before,
    accepted,
    rejected,
    misjudged,
  }
}

/** Refused for a format that nobody defines, not for one that is near a known one. */
export const NOBODYS = /^format\tformat '(.*)' is not supported; say/

/** Of a refused schema that names formats that nobody defines: what it is where the caller says that they only describe. */
export function judgeDescribed(one: Case, skip: ReadonlySet<number>, refused: Judgement): Judgement {
  const formats: Record<string, true> = {}
  for (let judgement = refused; ; judgement = judge(one, skip, formats)) {
    const [, name] = NOBODYS.exec(judgement.reason) ?? []
    if (name === undefined || Object.hasOwn(formats, name)) return judgement
    formats[name] = true
  }
}
