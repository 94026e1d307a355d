/** What a formula combines: the least that may still follow. */

import type { Node } from './regex-syntax.js'

export type Term =
  /** One character of a set, then `rest`. */
  | { readonly kind: 'set'; readonly members: Uint8Array; readonly rest: number }
  /** A repetition, then `rest`. */
  | { readonly kind: 'repeat'; readonly node: Node & { kind: 'repeat' }; readonly rest: number; unfolded: number }
  /** The end of the text. */
  | { readonly kind: 'end' }
  /** Whether a lookbehind holds here: known once the characters before are. */
  | { readonly kind: 'behind'; readonly index: number }
