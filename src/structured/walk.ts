import { fromKeyBytes } from './automaton/key-bytes.js'
import type { Machine, State } from './automaton/machine.js'

/**
 * A place in a text: the automaton's state, and the text of the string being read, which the automaton itself does not
 * carry but must be told when that string turns out to be a new key.
 */
export interface TextPlace {
  readonly state: State
  /** The bytes since the last opening quote, while some thread is inside a string. */
  readonly string: string
  readonly inString: boolean
}

export function startOf(machine: Machine): TextPlace {
  return { state: machine.start, string: '', inString: false }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** One byte further; the state is dead where the text breaks the grammar. */
export function advance(machine: Machine, place: TextPlace, byte: number): TextPlace {
  let state = machine.step(place.state, byte)
  if (!place.inString) return { state, string: '', inString: state.inString }
  const string = place.string + String.fromCharCode(byte)
  if (byte !== QUOTE || escaped(place.string)) return { state, string, inString: state.inString }
  if (state.unresolved) state = machine.resolve(state, fromKeyBytes(string))
  return { state, string: '', inString: state.inString }
}

/** Whether what comes next stands behind a lone backslash. */
function escaped(string: string): boolean {
  let count = 0
  for (let i = string.length - 1; i >= 0 && string.charCodeAt(i) === BACKSLASH; i--) count++
  return count % 2 === 1
}
