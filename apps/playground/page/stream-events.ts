import { el } from './dom.js'
import { inOneLine, readable } from './readable.js'
import { type Json, listOf, objectIn, recordOf } from './request-reading.js'

/** One event of a stream, for people. */
export interface StreamEvent {
  /** What it calls itself: `response.output_text.delta`, `chat.completion.chunk`, `[DONE]`. */
  readonly name: string
  /** What it brings, in one line. */
  readonly gist: string
  /** All of it; undefined where it is no JSON. */
  readonly data: Json | undefined
}

/** What stands between two empty lines; undefined for a heartbeat. */
export function streamEvent(block: string): StreamEvent | undefined {
  const fields = block.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/.exec(line))
  const of = (field: string) => fields.find((found) => found?.[1] === field)?.[2]
  const data = of('data')
  if (data === undefined) return undefined
  const json = objectIn(data)
  if (!json) return { name: of('event') ?? data, gist: '', data: undefined }
  const name = of('event') ?? (typeof json.object === 'string' ? json.object : json.error ? 'error' : 'data')
  return { name, gist: gistOf(json), data: json }
}

const SAID_BEFORE = new Set(['type', 'sequence_number', 'item_id', 'output_index', 'content_index'])

/** Without what its name says, and what every other event says too. */
function gistOf(event: Json): string {
  const rest = Object.fromEntries(Object.entries(event).filter(([key]) => !SAID_BEFORE.has(key)))
  const [choice] = listOf(event.choices)
  if (choice) return inOneLine(withoutNothing({ ...choice, index: undefined }))
  if (event.usage && event.choices) return inOneLine({ usage: event.usage })
  if (rest.response) return inOneLine({ status: recordOf(rest.response).status })
  if (typeof rest.delta === 'string') return JSON.stringify(rest.delta)
  return inOneLine(withoutNothing(rest.error ?? rest))
}

function withoutNothing(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).filter(([, item]) => item !== null && item !== undefined)
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutNothing(item)]))
}

/** The events of a stream as they come: a line each, which opens. */
export class StreamEventsView {
  readonly element = el('ol', { class: 'events' })
  #rest = ''

  /** Those that have ended with it. */
  take(text: string): StreamEvent[] {
    const blocks = (this.#rest + text).split(/\r?\n\r?\n/)
    this.#rest = blocks.pop()!
    const events = blocks.flatMap((block) => streamEvent(block) ?? [])
    this.element.append(...events.map((event) => el('li', {}, eventView(event))))
    return events
  }
}

function eventView({ name, gist, data }: StreamEvent): HTMLElement {
  if (!data) return el('p', { class: 'event-line' }, el('code', {}, name))
  const line = el('summary', { class: 'event-line' }, el('code', {}, name), ' ', el('span', {}, gist))
  const view = el('details', {}, line)
  // Thousands of them may come, and few are opened.
  view.addEventListener('toggle', () => view.append(el('pre', { class: 'code' }, readable(data))), { once: true })
  return view
}
