/**
 * Fields of a text by `generate`. Every field has the same prompt, in which all fields are described and the text stands
 * once; each is a document of its own behind it, with that field alone, so that no answer hangs on another. The first one
 * reads the text; the others share its pages and are written side by side.
 */
import {
  type ChatCall,
  type Evidence,
  type ExtractCall,
  type Extracted,
  type ExtractField,
  type FieldAnswer,
  type OutputFormat,
  type OutputGrammar,
  type Part,
  type Usage,
  V1Error,
} from '../../../contract/index.js'
import { breathe, hasStretch, inTurns, type JsonObject, jsonPointer } from '../../../platform/index.js'
import { checkChoice, constrained } from '../../answer/answering.js'
import { findModel } from '../../answer/loader.js'
import { tellNotEnded, WITHOUT_A_BREATH } from '../../answer/run.js'
import type { Service } from '../../answer/service.js'
import { Leavable } from '../../stream/abort.js'
import { Answer, NO_USAGE } from '../../wire/reply.js'
import { type AnswerStretch, answerOf, type Readable, Readables, readableKindOf } from './extracted.js'

/** What a stretch may take behind its name, and a list of them; it is then closed. */
const MOST_TOKENS = 256
const MOST_OF_LIST = 1024
const MOST_ITEMS = 64
/** Half of what a model answers side by side as a rule: whoever comes meanwhile finds a place, and steps are not long. */
const MOST_AT_ONCE = 4

/** In longer texts stretches are looked up once they are written. */
const MOST_QUOTED = 2 ** 18
/** What has more characters for each token of its context will be too long: nothing is made of it first. */
const MOST_OF_TOKEN = 16

/** How many fields are written side by side. */
export const fieldsAtOnce = (fields: readonly unknown[]): number => Math.min(MOST_AT_ONCE, fields.length)
/** Which message of the call is the text. */
const TEXT = 1

const INSTRUCTIONS = 'Copy each field from the text, word for word. A field of which the text says nothing is null.'

export type FieldsCall = ExtractCall & Required<Pick<ExtractCall, 'caller'>>

/** One field's document, and what it rests on. */
interface Written {
  readonly value: unknown
  /** What it was chosen from; absent: it may be any stretch. */
  readonly readable: Readable | undefined
  readonly evidence: ReadonlyMap<string, Evidence>
  readonly usage: Usage
  readonly fingerprint: string | undefined
}

export async function extractByGenerating(service: Service, call: FieldsCall): Promise<Extracted> {
  const writing = new Writing(service, call)
  const leave = () => writing.stop(call.signal.reason)
  call.signal.addEventListener('abort', leave)
  try {
    call.signal.throwIfAborted()
    return await writing.extracted()
  } catch (error) {
    // The other fields are written for nobody then.
    writing.stop(error)
    throw named(error)
  } finally {
    call.signal.removeEventListener('abort', leave)
  }
}

class Writing {
  readonly #service: Service
  readonly #call: FieldsCall
  readonly #format: OutputFormat
  /** One for each field that is being written: a signal is not made for a hundred listeners. */
  readonly #running = new Set<AbortController>()
  readonly #readables: Readables
  #calls = 0

  constructor(service: Service, call: FieldsCall) {
    this.#service = service
    this.#call = call
    this.#readables = new Readables(call)
    this.#format = formatOf(
      call.fields.map((field) => [field, describedField(field)]),
      [],
    )
  }

  stop(reason: unknown): void {
    for (const one of this.#running) one.abort(reason)
  }

  async extracted(): Promise<Extracted> {
    const { fields, state } = this.#call
    const written = await this.#each(fields, true)
    // What a field would be if the text did say it is asked where it was said not to.
    const silent = fields.filter((field, i) => written[i]!.value === null && field.type !== 'list')
    const guessed = new Map((await this.#each(silent, false)).map((one, i) => [silent[i]!, one]))
    const answers: FieldAnswer[] = []
    for (const [i, field] of fields.entries()) {
      const read = (one: Written | undefined): AnswerStretch[] | undefined => one && stretchesOf(field.name, one, state)
      const { value, evidence } = written[i]!
      const pNull = evidence.get(jsonPointer([field.name]))?.pNull
      const found = value === null ? undefined : read(written[i])
      const answer = answerOf({ field, call: this.#call, found, guess: read(guessed.get(field)), pNull })
      answers.push(await inTurns(answer, this.#call.signal, this.#call.caller))
    }
    return { answers, truncated: false, ...spent([...written, ...guessed.values()]) }
  }

  async #each(fields: readonly ExtractField[], mayBeNull: boolean): Promise<Written[]> {
    const written: Written[] = []
    let begun = () => {}
    const first = new Promise<void>((resolve) => {
      begun = resolve
    })
    let next = 0
    const work = async () => {
      for (let i = next++; i < fields.length; i = next++) {
        written[i] = await this.#write(fields[i]!, mayBeNull, i === 0 ? begun : () => {})
      }
    }
    const reader = work()
    // Whoever comes once the text has been read finds it read.
    await Promise.race([first, reader])
    await Promise.all([reader, ...Array.from({ length: fieldsAtOnce(fields) - 1 }, work)])
    return written
  }

  async #write(field: ExtractField, mayBeNull: boolean, begun: () => void): Promise<Written> {
    this.#call.signal.throwIfAborted()
    const abort = new AbortController()
    this.#running.add(abort)
    try {
      return await this.#written(field, mayBeNull, abort, begun)
    } finally {
      this.#running.delete(abort)
    }
  }

  async #written(field: ExtractField, mayBeNull: boolean, abort: AbortController, begun: () => void): Promise<Written> {
    const { engine } = this.#service
    const { signal } = abort
    const { model, caller } = this.#call
    // Grammars of quotes are found again by it: what is written side by side must not share one.
    const id = `${this.#call.id}-${this.#calls++}`
    const readable = this.#short ? await this.#readables.of(field) : undefined
    const format = formatOf([[field, heldTo(field, mayBeNull, readable)]])
    const output: OutputFormat = readable ? format : { ...format, ...this.#quoted }
    const messages = [{ role: 'user' as const, content: this.#call.state }]
    const spec = { model, output, tools: [], toolChoice: 'none' as const, fields: PLACES, messages }
    const constraint = await constrained(this.#service, spec, { id, caller, signal })
    const answer = new Answer(1)
    const evidence = new Map<string, Evidence>()
    const generated = engine.generate(this.#chatCall(id, field, signal, constraint.grammar))
    const parts = new Leavable<Part>(generated, (part) => part && answer.take(part))
    const patience = () => (answer.finished ? this.#service.patience : undefined)
    const next = () => new Promise<Part | undefined>((...heard) => parts.ask(...heard, patience()))
    try {
      let count = 0
      for (let part = await next(); part; part = await next()) {
        if (++count % WITHOUT_A_BREATH === 0) await breathe()
        signal.throwIfAborted()
        // What the grammar decides may be told before anything is read, and how long the prompt is before that.
        if (part.type !== 'usage' && (part.type !== 'text-delta' || part.forced === undefined)) begun()
        if (part.type === 'evidence') evidence.set(part.evidence.pointer, part.evidence)
      }
      if (!parts.ended) tellNotEnded(this.#service, `${id} of ${model}`)
    } finally {
      if (!parts.ended) abort.abort()
      await parts.leave()
    }
    const [choice] = answer.choices
    if (!choice || !answer.finished) throw new Error('The engine stopped before it had finished a field.')
    await checkChoice(choice, { sampling: GREEDY }, constraint)
    const document = JSON.parse(choice.text) as JsonObject
    return {
      value: document[field.name],
      readable,
      evidence,
      usage: answer.countedUsage(),
      fingerprint: answer.fingerprint,
    }
  }

  #chatCall(id: string, field: ExtractField, signal: AbortSignal, grammar: OutputGrammar | undefined): ChatCall {
    const { model, caller, state } = this.#call
    return {
      ...{ id, model, signal, caller },
      ...{ n: 1, stop: [], tools: [], toolChoice: 'none', parallelToolCalls: true },
      messages: [
        { role: 'system', content: INSTRUCTIONS },
        { role: 'user', content: state },
      ],
      maxTokens: mostOfName(field) + (field.type === 'list' ? MOST_OF_LIST : MOST_TOKENS),
      sampling: GREEDY,
      templateOptions: NO_THOUGHT,
      // Described are all fields, for every one of them: what stands before the answers is then the same.
      output: this.#format,
      describeSchema: true,
      ...(grammar && { grammar }),
      ...(this.#hasEvidence && { evidence: true }),
    }
  }

  /** What is written is a stretch of the text, where the model can be held to that. */
  get #quoted(): { readonly quote?: true } {
    const { capabilities } = findModel(this.#service.engine, this.#call.model)
    return capabilities?.quotes && this.#short && hasStretch(this.#call.state) ? { quote: true } : {}
  }

  get #short(): boolean {
    const { model, state } = this.#call
    const { contextLength = MOST_QUOTED } = findModel(this.#service.engine, model)
    return state.length <= Math.min(MOST_QUOTED, contextLength * MOST_OF_TOKEN)
  }

  get #hasEvidence(): boolean {
    return findModel(this.#service.engine, this.#call.model).capabilities?.evidence === true
  }
}

/** A token is a byte at least. */
const mostOfName = ({ name }: ExtractField): number => new TextEncoder().encode(JSON.stringify(name)).length

const GREEDY = { temperature: 0 }
const NO_THOUGHT = { enable_thinking: false, thinking: false, reasoning_effort: 'none' }
const PLACES = { format: 'fields', parameters: () => 'fields' }

/** Fields as properties; of what is told none has to be there, of what is written all. */
function formatOf(
  fields: readonly (readonly [ExtractField, JsonObject])[],
  required = fields.map(([{ name }]) => name),
): OutputFormat {
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields.map(([{ name }, schema]) => [name, schema])),
    required,
    additionalProperties: false,
  }
  return { type: 'json_schema', name: 'fields', strict: true, schema }
}

/** As it is described to the model: a number is one, however the text writes it. */
function describedField(field: ExtractField): JsonObject {
  const description = instructionsFor(field)
  return {
    ...schemaOf(field, readableKindOf(field) === 'number' ? { type: 'number' } : STRETCH, false),
    ...(description !== '' && { description }),
  }
}

/** What may be written: one of what can be read as such a value, else any stretch. */
function heldTo(field: ExtractField, mayBeNull: boolean, readable: Readable | undefined): JsonObject {
  return schemaOf(field, readable ? { enum: [...readable.keys()] } : STRETCH, mayBeNull)
}

const STRETCH = { type: 'string', minLength: 1 }

function schemaOf(field: ExtractField, one: JsonObject, mayBeNull: boolean): JsonObject {
  const each = field.type === 'list' ? { type: 'array', items: one, minItems: 1, maxItems: MOST_ITEMS } : one
  if (!mayBeNull) return each
  return 'enum' in each ? { enum: [...(each.enum as unknown[]), null] } : { ...each, type: [each.type, 'null'] }
}

const KINDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    number: 'a number',
    date: 'a date',
    time: 'a time of day',
    datetime: 'a date with its time of day',
    duration: 'a length of time',
  }),
)

/** What is asked for, else what kind of thing it is. */
export function instructionsFor(field: ExtractField): string {
  const text = field.instructions?.trim() ?? KINDS.get(field.type === 'list' ? field.items : field.type) ?? ''
  return field.type === 'number' && field.unit !== undefined ? `${text} (${field.unit})` : text
}

/** Where each value that was written stands in the text. */
function stretchesOf(name: string, { value, readable, evidence }: Written, state: string): AnswerStretch[] {
  const stretch = (written: unknown, pointer: string): AnswerStretch => {
    const { confidence, source } = evidence.get(pointer) ?? {}
    const sure = confidence === undefined ? {} : { confidence }
    const places = readable?.get(written as string | number)
    if (places) return { places, ...sure }
    const text = String(written)
    const span = source ? (source.message === TEXT ? source : undefined) : onlyPlace(state, text)
    return span ? { places: [{ start: span.start, end: span.end }], ...sure } : { text, places: [], ...sure }
  }
  if (!Array.isArray(value)) return [stretch(value, jsonPointer([name]))]
  return value.map((item, i) => stretch(item, jsonPointer([name, i])))
}

/** Where several places say it, none is the source. */
function onlyPlace(state: string, text: string) {
  const start = state.indexOf(text)
  if (start < 0 || state.indexOf(text, start + 1) >= 0) return undefined
  return { start, end: start + text.length }
}

/** Of all fields together: their prompts are one. */
function spent(written: readonly Written[]): Pick<Extracted, 'usage' | 'fingerprint'> {
  const [first] = written
  const completionTokens = written.reduce((sum, { usage }) => sum + usage.completionTokens, 0)
  const fingerprint = written.at(-1)?.fingerprint
  return {
    usage: { ...(first?.usage ?? NO_USAGE), completionTokens },
    ...(fingerprint !== undefined && { fingerprint }),
  }
}

/** What an engine says of messages it says here of the state. */
function named(error: unknown): unknown {
  if (!V1Error.is(error) || error.param !== 'messages') return error
  const { status, type, code, headers, cause } = error
  const message = error.message.replaceAll(/(?:your|the) messages/g, "'state' and 'fields'")
  return new V1Error(status, message, { type, param: 'state', code, headers, cause })
}
