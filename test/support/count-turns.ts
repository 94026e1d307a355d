/** Turns of the event loop so far, while a test looks at them: until it is `over`. */
export function countTurns() {
  const turns = { now: 0, over: false }
  const next = () => {
    turns.now++
    if (!turns.over) setImmediate(next)
  }
  setImmediate(next)
  return turns
}
