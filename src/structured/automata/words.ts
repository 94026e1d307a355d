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

/** The shortest text that is accepted from a state; undefined from the dead one. */
export function shortestText(automaton: TextAutomaton, from = automaton.start): string | undefined {
  if (from === DEAD) return undefined
  const { classes } = automaton
  let text = ''
  for (let state = from; automaton.distance(state) > 0; ) {
    const wanted = automaton.distance(state) - 1
    for (let cls = 1; cls < classes.count; cls++) {
      const next = automaton.step(state, cls)
      if (next === DEAD || automaton.distance(next) !== wanted) continue
      text += String.fromCodePoint(classes.sample(cls))
      state = next
      break
    }
  }
  return text
}
