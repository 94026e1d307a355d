/** Random texts of an automaton, for tests. */

import { DEAD, type TextAutomaton } from './types.js'

/** A random accepted text: choices drive the walk, and the shortest way home ends it. */
export function walk(automaton: TextAutomaton, choices: readonly number[], from = automaton.start): string {
  const { classes } = automaton
  let state = from
  let text = ''
  for (const choice of choices) {
    const live: number[] = []
    for (let cls = 1; cls < classes.count; cls++) if (automaton.step(state, cls) !== DEAD) live.push(cls)
    if (live.length === 0) break
    const cls = live[choice % live.length]!
    text += String.fromCodePoint(classes.sample(cls))
    state = automaton.step(state, cls)
  }
  return text + shortestText(automaton, state)
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
