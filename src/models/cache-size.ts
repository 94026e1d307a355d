/** How much of keys and values a model keeps on a device: of all tokens, or of the last ones where a layer sees no more. */
import { type DeviceLimits, PAGE } from '../device/index.js'
import type { CacheType } from '../platform/index.js'
import { type KeptPlan, planKept, tokenBytes, windowOf } from './kept.js'
import type { ModelPlan } from './model-plan.js'
import { bytes, short } from './short.js'

export interface CacheNeeds {
  readonly name: string
  readonly limits: DeviceLimits
  readonly type: CacheType
  /** The longest sequence that is wanted. */
  readonly context: number
  /** Tokens over all sequences. @default see `defaultCacheTokens` */
  readonly tokens: number | undefined
  readonly maxBatch: number
  /** Of a pass. */
  readonly rows: number
  /** What all else takes, in words for messages. */
  readonly other: { readonly bytes: number; readonly parts: string }
}

export interface CachePlan {
  readonly kept: KeptPlan
  readonly pages: number
  /** The tokens that are promised. */
  readonly tokens: number
  readonly bytes: number
  /** Of layers that keep their window alone; 0 pages: none does. */
  readonly window: number
  readonly windowPages: number
  readonly windowBytes: number
}

/** The most that the default cache takes for more than one whole context. */
const CACHE_BYTES = 512 * 1048576
/** What each further sequence of a batch gets beside one whole context: most are short. */
const FURTHER = 512
/** Positions without which no conversation is possible. */
const LEAST = 4 * PAGE
/** Windows beside those of a batch, and at least so many: to go back to, and of conversations that wait. */
const MORE_WINDOWS = 2
const LEAST_WINDOWS = 4

/** Throws an error that says what is short. */
export function planCaches(model: ModelPlan, needs: CacheNeeds): CachePlan {
  const all = tokenBytes(planKept(model, false), needs.type).all
  const window = windowOf(model)
  if (window !== undefined) {
    const windowPages = pagesOfWindows(window, needs)
    // Of a window as wide as the context nothing would be saved.
    if (windowPages * PAGE < Math.min(needs.context, wantedTokens(needs, all))) {
      const plan = place(planKept(model, true), needs, { window, windowPages })
      if ('kept' in plan) return plan
    }
  }
  const plan = place(planKept(model, false), needs, { window: 0, windowPages: 0 })
  if ('kept' in plan) return plan
  throw short(needs.name, plan.needed, plan.has)
}

/** Each of a batch has its window and a page that is partly empty on both sides; a pass adds its rows. */
function pagesOfWindows(window: number, { maxBatch, rows }: CacheNeeds): number {
  const count = Math.max(LEAST_WINDOWS, maxBatch + MORE_WINDOWS)
  return count * (Math.ceil((window + PAGE) / PAGE) + 2) + Math.ceil(rows / PAGE)
}

function wantedTokens({ limits, tokens, context, maxBatch }: CacheNeeds, perToken: number): number {
  const roomy = Math.floor(Math.min(CACHE_BYTES, limits.tensorBytes / 2) / perToken)
  return tokens ?? defaultCacheTokens(context, maxBatch, roomy)
}

/** One whole context, and a little for each further sequence where there is room for it. */
export function defaultCacheTokens(context: number, maxBatch: number, roomy: number): number {
  const further = Math.min(context, FURTHER) * (maxBatch - 1)
  return Math.max(context, Math.min(context + further, roomy))
}

/** What fits, or what is short. */
function place(
  kept: KeptPlan,
  needs: CacheNeeds,
  { window, windowPages }: Pick<CachePlan, 'window' | 'windowPages'>,
): CachePlan | { readonly needed: string; readonly has: string } {
  const { limits, maxBatch, type, other } = needs
  const { all: perToken, most: perLayer } = tokenBytes(kept, type)
  const { all: ofWindows, most: ofWindow } = tokenBytes(kept, type, true)
  const windowBytes = windowPages * PAGE * ofWindows
  const wanted = wantedTokens(needs, perToken)
  // One page more per sequence: each leaves its last page partly empty.
  const aside = maxBatch * PAGE
  const least = Math.min(wanted, LEAST) + aside
  const inBuffer = Math.max(least * perLayer, windowPages * PAGE * ofWindow)
  if (limits.tensorBytes < inBuffer) {
    return { needed: `${bytes(inBuffer)} in one buffer for a layer's cache`, has: bytes(limits.tensorBytes) }
  }
  const total = limits.totalBytes ?? Number.POSITIVE_INFINITY
  const fixed = other.bytes + windowBytes
  if (total < fixed + least * perToken) {
    return {
      needed: `${other.parts} and ${bytes(windowBytes + least * perToken)} for the cache`,
      has: `${bytes(total)} in all`,
    }
  }
  const inOneBuffer = Math.floor(limits.tensorBytes / perLayer)
  const inAll = Math.floor((total - fixed) / perToken)
  const tokens = Math.min(wanted, Math.min(inOneBuffer, inAll) - aside)
  const pages = Math.ceil((tokens + aside) / PAGE)
  return { kept, pages, tokens, bytes: pages * PAGE * perToken, window, windowPages, windowBytes }
}
