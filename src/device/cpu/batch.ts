/** What the operations need to know of each row of a pass, where the kernels can read it. */
import { type Batch, NO_STATE, PAGE } from '../contract.js'
import type { CpuRecorder } from '../operations/define.js'
import { CpuSampler } from './sampler.js'
import { own } from './tensors.js'

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
  /** For each span its first row, its rows, the slot of its states before them, and where those after each row are. */
  readonly spans: number
  /** Positions of the longest sequence. */
  readonly longest: number
  /** Some sequence has several rows. */
  readonly several: boolean
}

/** Columns of what is said of each row, one after the other in one piece of memory. */
const [TOKENS, POSITIONS, PAGES, LISTS, WINDOW_PAGES, WINDOW_LISTS, PLACES] = [0, 1, 2, 3, 4, 5, 6]
/** Words of what is said of each span. */
const SPAN_WORDS = 4

/** `pass`: where the kernels can read it. */
export function placeBatch({ spans, sampler }: Batch, rows: number, pass: Pick<CpuRecorder, 'put'>): PlacedBatch {
  const slots = sampler && own(sampler, CpuSampler).slots
  let slides = false
  let placed = false
  for (const { windowPages, places } of spans) {
    if (windowPages) slides = true
    if (places) placed = true
  }
  const columns = placed ? PLACES + 1 : slides ? PLACES : WINDOW_PAGES
  const slotsFrom = columns * rows + SPAN_WORDS * spans.length
  const words = new Int32Array(slotsFrom + (spans[0]?.state ? rows : 0))
  let next = columns * rows
  let row = 0
  let longest = 0
  for (const span of spans) {
    const { position, state, places } = span
    const list = pass.put(span.pages)
    const windowList = span.windowPages ? pass.put(span.windowPages) : 0
    longest = Math.max(longest, position + span.tokens.length)
    words[next++] = row
    words[next++] = span.tokens.length
    words[next++] = state ? state.from : NO_STATE
    // From the first span's words on.
    words[next++] = SPAN_WORDS * spans.length + row
    if (state?.each) words.set(state.each, slotsFrom + row)
    else if (state) words.fill(state.to, slotsFrom + row, slotsFrom + row + span.tokens.length)
    for (let i = 0; i < span.tokens.length; i++, row++) {
      const token = span.tokens[i]!
      const page = Math.floor((position + i) / PAGE)
      words[TOKENS * rows + row] = token < 0 ? slots![-1 - token]! : token
      words[POSITIONS * rows + row] = position + i
      words[PAGES * rows + row] = span.pages[page]!
      words[LISTS * rows + row] = list
      if (placed) words[PLACES * rows + row] = places ? places[i]! : position + i
      if (!slides) continue
      words[WINDOW_PAGES * rows + row] = span.windowPages?.[page] ?? 0
      words[WINDOW_LISTS * rows + row] = windowList
    }
  }
  const at = pass.put(words)
  const columnBytes = 4 * rows
  return {
    tokens: at + TOKENS * columnBytes,
    positions: at + POSITIONS * columnBytes,
    ...(placed && { places: at + PLACES * columnBytes }),
    pages: at + PAGES * columnBytes,
    lists: at + LISTS * columnBytes,
    windowPages: slides ? at + WINDOW_PAGES * columnBytes : 0,
    windowLists: slides ? at + WINDOW_LISTS * columnBytes : 0,
    spans: at + columns * columnBytes,
    longest,
    several: rows > spans.length,
  }
}
