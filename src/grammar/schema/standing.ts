import type { SchemaPart } from './part.js'

/** One alternative of a list, as a graph sees it. */
export interface Alternative {
  readonly id: number
  readonly part: SchemaPart
  /** The last declared key that it says something of; -1: none. */
  readonly last: number
  /** It says nothing of what stands behind the declared keys. */
  readonly open: boolean
}

/** One of these must hold. */
export interface List {
  readonly id: number
  readonly of: readonly Alternative[]
}

/** What is still open, by ids: the lists none of whose alternatives is certain yet, and the alternatives that are possible. */
export interface Standing {
  readonly lists: Uint8Array
  readonly alive: Uint8Array
}

/** Whether one of a list is certain; undefined where none is possible. */
export function standsOf({ of }: List, alive: Uint8Array, index: number, pending?: Uint8Array): boolean | undefined {
  let possible: false | undefined
  for (const { id, open, last } of of) {
    if (alive[id] === 0) continue
    if (open && last <= index && pending?.[id] !== 1) return true
    possible = false
  }
  return possible
}

export function standingName({ lists, alive }: Standing): string {
  return `${bitsOf(lists)}|${bitsOf(alive)}`
}

function bitsOf(flags: Uint8Array): string {
  let text = ''
  for (let i = 0; i < flags.length; i += 16) {
    let bits = 0
    for (let k = 0; k < 16; k++) bits = bits * 2 + (flags[i + k] ?? 0)
    text += String.fromCharCode(bits)
  }
  return text
}
