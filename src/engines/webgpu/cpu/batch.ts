/** What the operations need to know of each row of a pass, where the kernels can read it. */
import { type Batch, NO_STATE, PAGE } from '../contract.js'
import { own } from './guards.js'
import { CpuSampler } from './sampler.js'

export interface PlacedBatch {
  /** For each row, its token, its position, the page that it is written to, and where its sequence's page list is. */
  readonly tokens: number
  readonly positions: number
  readonly pages: number
  readonly lists: number
  /** The same for caches that slide. */
  readonly windowPages: number
  readonly windowLists: number
  /** Row of a second table for each row, where some span says which. */
  readonly places?: number
  /** For each span its first row, its rows, and the slots of its states before and after them. */
  readonly spans: number
  /** Positions of the longest sequence. */
  readonly longest: number
  /** Some sequence has several rows. */
  readonly several: boolean
}

export function placeBatch({ spans, sampler }: Batch, rows: number, put: (values: Int32Array) => number): PlacedBatch {
  const slots = sampler && own(sampler, CpuSampler).slots
  const tokens = new Int32Array(rows)
  const positions = new Int32Array(rows)
  const pages = new Int32Array(rows)
  const lists = new Int32Array(rows)
  const slides = spans.some(({ windowPages }) => windowPages)
  const windowPages = new Int32Array(slides ? rows : 0)
  const windowLists = new Int32Array(slides ? rows : 0)
  const parts: number[] = []
  let row = 0
  let longest = 0
  for (const span of spans) {
    const list = put(span.pages)
    const windowList = span.windowPages ? put(span.windowPages) : 0
    const end = span.position + span.tokens.length
    longest = Math.max(longest, end)
    const { from, to } = span.state ?? { from: NO_STATE, to: NO_STATE }
    parts.push(row, span.tokens.length, from, to)
    for (let i = 0; i < span.tokens.length; i++, row++) {
      const token = span.tokens[i]!
      tokens[row] = token < 0 ? slots![-1 - token]! : token
      positions[row] = span.position + i
      pages[row] = span.pages[Math.floor((span.position + i) / PAGE)]!
      lists[row] = list
      if (!slides) continue
      windowPages[row] = span.windowPages?.[Math.floor((span.position + i) / PAGE)] ?? 0
      windowLists[row] = windowList
    }
  }
  return {
    tokens: put(tokens),
    positions: put(positions),
    ...(spans.some(({ places }) => places) && { places: put(placesOf(spans, positions)) }),
    pages: put(pages),
    lists: put(lists),
    windowPages: slides ? put(windowPages) : 0,
    windowLists: slides ? put(windowLists) : 0,
    spans: put(Int32Array.from(parts)),
    longest,
    several: rows > spans.length,
  }
}

function placesOf(spans: Batch['spans'], positions: Int32Array): Int32Array {
  const places = positions.slice()
  let row = 0
  for (const { tokens, places: given } of spans) {
    if (given) places.set(given, row)
    row += tokens.length
  }
  return places
}
