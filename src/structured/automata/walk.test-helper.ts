/** Random texts of an automaton, for tests. */

import { DEAD, type TextAutomaton } from './types.js'
import { shortestText } from './words.js'

/** A random accepted text: choices drive the walk, and the shortest way home ends it. */
export function walk(automaton: TextAutomaton, choices: readonly number[]): string {
  const { classes } = automaton
  let state = automaton.start
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
