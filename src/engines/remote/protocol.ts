/** What goes over the port. Plain data: whatever cannot be cloned is named here by what it was made from. */
import { type LoadProgress, type ModelInfo, type OutputGrammar, type Part, V1Error } from '../../contract/index.js'
import { type Slices, smallParts } from '../../platform/index.js'
import type { WireFailure } from './failure.js'
import { FarGrammar } from './far-grammar.js'

/**
 * What the contract asks with one object, which has the signal in it, and has one result. A method more of this kind is a
 * name here and a line in `RemoteEngine`.
 */
export const CALLS = [
  'embed',
  'rank',
  'classify',
  'decide',
  'point',
  'tokenize',
  'detokenize',
  'tokenizerInfo',
] as const
export type CallName = (typeof CALLS)[number]

/** The same for what demands are compiled to: the other side does it for itself, where its engine leaves it to its service. */
export type ValueName = CallName | 'constrain' | 'check'

/** From the service to the engine. `id` is the caller's, one for each request. */
export type EngineCommand =
  | { readonly type: 'generate'; readonly id: number; readonly call: WireCall }
  | { readonly type: 'value'; readonly id: number; readonly what: ValueName; readonly call: WireCall }
  | { readonly type: 'load' | 'unload' | 'remove' | 'learn'; readonly id: number; readonly model: string }
  | { readonly type: 'survey' | 'close'; readonly id: number }
  | { readonly type: 'abort'; readonly id: number }
  /** The reader has taken so many more parts. */
  | { readonly type: 'taken'; readonly id: number; readonly parts: number }
  /** A piece of a list is here, and others have had their turn. */
  | { readonly type: 'got'; readonly id: number }

/** What comes to an end. */
export type Work = Exclude<EngineCommand, { type: 'abort' | 'taken' | 'got' }>

/** From the engine to the service: each message is a list of these, in their order. */
export type EngineReply =
  | { readonly type: 'models'; readonly models: readonly ModelInfo[]; readonly ready: boolean }
  | PartReply
  | { readonly type: 'progress'; readonly id: number; readonly progress: LoadProgress }
  /** Of a list in the value or the part that comes next, what comes next: a million tokens at once hold everybody up. */
  | { readonly type: 'piece'; readonly id: number; readonly list: string; readonly items: readonly unknown[] }
  | { readonly type: 'value'; readonly id: number; readonly value: unknown }
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly failure: WireFailure }

export interface PartReply {
  readonly type: 'part'
  readonly id: number
  readonly part: Part
}

/** What demands come to, of which the grammars are compiled, as the JSON of their sources. */
export interface WireConstraint {
  readonly grammar?: string
  readonly toolGrammar?: string
  readonly notEnforced: readonly string[]
  /** Whether an answer can be at fault at all. */
  readonly judged: boolean
}

/** Parts that may be under way and unread, for each call. */
export const WINDOW = 64

/** A call without its signal, which is a message of its own, and with its grammars as the JSON of what they were compiled from. */
export interface WireCall {
  /** Which request it is, for whoever asks what an engine is at. */
  readonly about: Whose
  readonly rest: Readonly<Record<string, unknown>>
  readonly grammars: Readonly<Record<string, string>>
  /** What has many objects in it, as JSON: a list in pieces, which are lists, anything else as the one item of a list. */
  readonly spelled: Readonly<Record<string, { readonly pieces: readonly string[]; readonly isList: boolean }>>
}

export interface Whose {
  readonly model: string
  /** `chatcmpl-...`, where it has one. */
  readonly request?: string
}

export function* wireCall(call: { readonly model: string; readonly id?: string }): Slices<WireCall> {
  const rest: Record<string, unknown> = {}
  const grammars: Record<string, string> = {}
  const spelled: Record<string, { pieces: string[]; isList: boolean }> = {}
  for (const [name, value] of Object.entries(call)) {
    if (name === 'signal') continue
    if (isGrammar(value)) grammars[name] = textOf(value)
    else if (hasMany(value)) {
      const pieces: string[] = []
      const isList = Array.isArray(value)
      spelled[name] = { pieces, isList }
      for (const piece of smallParts(isList ? value : [value])) {
        yield
        pieces.push(JSON.stringify(piece))
      }
    } else rest[name] = value
  }
  const { model, id } = call
  return { about: { model, ...(id !== undefined && { request: id }) }, rest, grammars, spelled }
}

/** What was spelled there, as it was. */
export function* unspelled({ pieces, isList }: WireCall['spelled'][string]): Slices<unknown> {
  const all: unknown[] = []
  for (const piece of pieces) {
    for (const item of JSON.parse(piece) as unknown[]) all.push(item)
    yield
  }
  return isList ? all : all[0]
}

/** To be sent from thread to thread, an object takes ten times as long as its text. */
const MANY = 500

/** Whether it has many objects, of which JSON says all. */
const hasMany = (value: unknown): boolean => objectsIn(value, MANY) > MANY && isPlain(value)

/** No more are counted than tell that there are more. */
function objectsIn(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0
  let count = 1
  for (const each of Array.isArray(value) ? value : Object.values(value)) {
    if (count > most) break
    count += objectsIn(each, most - count)
  }
  return count
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint'
  if (Array.isArray(value)) return value.every((each) => each !== undefined && isPlain(each))
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isPlain)
}

function isGrammar(value: unknown): value is OutputGrammar {
  return typeof (value as Partial<OutputGrammar> | null | undefined)?.accepts === 'function'
}

function textOf(grammar: OutputGrammar): string {
  if (grammar instanceof FarGrammar) return grammar.text
  const { source } = grammar
  if (source !== undefined) return JSON.stringify(source)
  throw new V1Error(500, 'A grammar that does not say what it was compiled from cannot be sent to another thread.')
}
