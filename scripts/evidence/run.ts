/**
 * One case after the other, through the service: each alone and whole, then several at once, as streams. What is told
 * must be of every value, in order, the same both times; every source must say its value, and what plainly stands in a
 * text must have one.
 */
import { setUp, smallText } from '../../src/generate/testing/call.test-helper.js'
import { createV1, type Engine, type V1 } from '../../src/index.js'
import type { WireEvidence } from '../../src/service/wire/evidence.js'
import type { EvidenceCase, Leaf } from './cases.js'
import { whyNot } from './judge.js'

const MODEL = 'test/small'

export interface EvidenceTarget {
  /** What is wrong with these, which are asked alone and together. */
  try(cases: readonly EvidenceCase[]): Promise<string[]>
  readonly counts: { documents: number; values: number; sources: number }
  close(): Promise<void>
}

/** The decode loop itself, over a model without weights. */
export function evidenceTarget(): EvidenceTarget {
  const { decoder, model } = setUp({ contextLength: 4096, pages: 4096 }, smallText)
  const engine: Engine = {
    version: 2,
    models: [{ id: MODEL, ownedBy: 'test', capabilities: decoder.capabilities }],
    generate: (call) => decoder.generate(call),
  }
  const v1 = createV1({ engine, keys: 'none', log: () => {} })
  const counts = { documents: 0, values: 0, sources: 0 }
  return {
    counts,
    async try(cases) {
      const alone: Answered[] = []
      for (const one of cases) alone.push(await ask(v1, one, false))
      const together = await Promise.all(cases.map((one) => ask(v1, one, true)))
      return cases.flatMap((one, i) => {
        const faults = faultsOf(one, alone[i]!, counts)
        const same = JSON.stringify(alone[i]) === JSON.stringify(together[i])
        if (!same) faults.push(`alone ${JSON.stringify(alone[i])}\n  in company ${JSON.stringify(together[i])}`)
        return faults.map((fault) => `${fault}\n  ${JSON.stringify({ ...one, written: [...one.written] })}`)
      })
    },
    async close() {
      await v1.close()
      await decoder.close()
      if (model.openSequences > 0) throw new Error(`${model.openSequences} sequences are still open.`)
    },
  }
}

interface Answered {
  readonly content?: string
  readonly reason?: string | null
  readonly evidence?: Readonly<Record<string, WireEvidence>>
  readonly error?: unknown
}

async function ask(v1: V1, { schema, texts, seed, quote }: EvidenceCase, stream: boolean): Promise<Answered> {
  const [system, ...parts] = texts
  const body = {
    model: MODEL,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: parts.map((text) => ({ type: 'text', text })) },
    ],
    temperature: 1,
    seed,
    max_tokens: 400,
    response_format: { type: 'json_schema', json_schema: { name: 'case', strict: true, schema } },
    evidence: true,
    ...(quote && { quote }),
    stream,
  }
  const request = new Request(`http://localhost${v1.basePath}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await (await v1.fetch(request)).text()
  return stream && text.startsWith('data:') ? together(text) : whole(text)
}

function whole(text: string): Answered {
  const { choices, error } = JSON.parse(text)
  if (error) return { error }
  const [{ message, finish_reason: reason, evidence }] = choices
  return { content: message.content, reason, ...(evidence && { evidence }) }
}

function together(text: string): Answered {
  let [content, reason] = ['', null as string | null]
  let evidence: Record<string, WireEvidence> | undefined
  for (const [, data] of text.matchAll(/^data: (\{.*\})$/gm)) {
    const { choices = [], error } = JSON.parse(data!)
    if (error) return { error }
    for (const { delta, finish_reason: finish, evidence: added } of choices) {
      content += delta.content ?? ''
      reason = finish ?? reason
      if (finish) {
        if (JSON.stringify(added) !== JSON.stringify(evidence)) return { error: 'the end tells other evidence' }
        continue
      }
      for (const pointer of Object.keys(added ?? {})) {
        if (evidence && Object.hasOwn(evidence, pointer)) return { error: `${pointer} is told twice` }
      }
      if (added) evidence = { ...evidence, ...added }
    }
  }
  return { content, reason, ...(evidence && { evidence }) }
}

function faultsOf(one: EvidenceCase, answered: Answered, counts: EvidenceTarget['counts']): string[] {
  const { content, reason, evidence = {}, error } = answered
  if (error) return [`error ${JSON.stringify(error)}`]
  if (reason !== 'stop') return []
  counts.documents++
  const found = leavesOf(JSON.parse(content!), '')
  const faults: string[] = []
  const pointers = found.map(([pointer]) => pointer).sort()
  if (JSON.stringify(pointers) !== JSON.stringify(Object.keys(evidence).sort())) {
    faults.push(`told of ${Object.keys(evidence)}, there are ${pointers}`)
  }
  for (const [pointer, value] of found) {
    const entry = Object.hasOwn(evidence, pointer) ? evidence[pointer] : undefined
    if (!entry) continue
    counts.values++
    const { confidence, p_null: none = 0, runner_up: other, source } = entry
    const shares = [confidence, none, other?.probability ?? 0]
    if (!shares.every((share) => share >= 0 && share <= 1)) faults.push(`${pointer}: ${shares} are no probabilities`)
    const isQuote = one.quote === true && typeof value === 'string' && !spelledOut(one.schema, pointer)
    if (isQuote) faults.push(...unquoted(one, value, entry).map((fault) => `${pointer}: ${fault}`))
    if (!source) {
      if (one.written.has(value)) faults.push(`${pointer}: ${JSON.stringify(value)} is written, and no source is told`)
      continue
    }
    counts.sources++
    const [system, ...parts] = one.texts
    const text = source.message === 0 ? (source.part === 0 ? system : undefined) : parts[source.part]
    if (text === undefined) faults.push(`${pointer}: there is no part ${source.part} of message ${source.message}`)
    else {
      const why = whyNot(value, text, source.start, source.end)
      if (why)
        faults.push(
          `${pointer}: ${JSON.stringify(text.slice(source.start, source.end))} for ${JSON.stringify(value)}: ${why}`,
        )
    }
  }
  return faults
}

/** Exact by construction: a stretch of what the user says, unless that is nothing. */
function unquoted({ texts: [, ...parts] }: EvidenceCase, value: string, { source }: WireEvidence): string[] {
  // Marks alone are no text either.
  if (value === '') return parts.some((text) => /[^\s\p{M}]/u.test(text)) ? ['an empty quote'] : []
  const text = source?.message === 1 ? parts[source.part] : undefined
  const isExact = text !== undefined && text.slice(source!.start, source!.end) === value
  return isExact ? [] : [`${JSON.stringify(value)} is no stretch of what the user says`]
}

/** What a schema names itself is no quote. */
function spelledOut(schema: EvidenceCase['schema'], pointer: string): boolean {
  const name = pointer.split('/')[1]!.replaceAll('~1', '/').replaceAll('~0', '~')
  return 'enum' in (schema.properties as Record<string, object>)[name]!
}

function leavesOf(document: unknown, pointer: string): [pointer: string, value: Leaf][] {
  if (typeof document !== 'object' || document === null) return [[pointer, document as Leaf]]
  return Object.entries(document).flatMap(([name, inside]) =>
    leavesOf(inside, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  )
}
