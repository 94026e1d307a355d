import { ItemTexts } from './automaton/item-texts.js'
import { fromKeyBytes } from './automaton/key-bytes.js'
import type { Machine, State } from './automaton/machine.js'
import { NUMBER_BYTES } from './automaton/number.js'

/**
 * A place in a text: the automaton's state, and the text of the string being read, which the automaton itself does not
 * carry but must be told when that string turns out to be a new key.
 */
export interface TextPlace {
  readonly state: State
  /** The bytes since the last opening quote, while some thread is inside a string. */
  readonly string: string
  readonly inString: boolean
  /** The text of items that may not come twice, while there are any. */
  readonly items: ItemTexts | undefined
}

export function startOf(machine: Machine): TextPlace {
  return placeAt(machine.start, '', undefined)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

function placeAt(state: State, string: string, items: ItemTexts | undefined): TextPlace {
  return { state, string, inString: state.inString, items }
}

/** One byte further; the state is dead where the text breaks the grammar. */
export function advance(machine: Machine, place: TextPlace, byte: number): TextPlace {
  let { state } = place
  if (place.items !== undefined && state.mayBeUntold && !NUMBER_BYTES.includes(byte)) {
    state = machine.tell(state, place.items.last)
  }
  state = machine.step(state, byte)
  const items = place.items?.after(byte) ?? (state.opensItems ? ItemTexts.START : undefined)
  if (items !== undefined && state.untold) state = machine.tell(state, items.last)
  if (!place.inString) return placeAt(state, '', items)
  const string = place.string + String.fromCharCode(byte)
  if (byte !== QUOTE || escaped(place.string)) return placeAt(state, string, items)
  if (state.unresolved) state = machine.resolve(state, fromKeyBytes(string))
  return placeAt(state, '', items)
}

/** Whether what comes next stands behind a lone backslash. */
function escaped(string: string): boolean {
  let count = 0
  for (let i = string.length - 1; i >= 0 && string.charCodeAt(i) === BACKSLASH; i--) count++
  return count % 2 === 1
}
