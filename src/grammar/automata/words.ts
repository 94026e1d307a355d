/** Single texts against an automaton. */

import { DEAD, type TextAutomaton } from './types.js'

export function acceptsText(automaton: TextAutomaton, text: string): boolean {
  let state = automaton.start
  for (const character of text) {
    state = automaton.next(state, character.codePointAt(0)!)
    if (state === DEAD) return false
  }
  return automaton.accepts(state)
}
