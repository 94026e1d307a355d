/** What time it is, in milliseconds, and later each time: what is written within one has an order all the same. */
export function inOrder(): () => number {
  let last = 0
  return () => {
    last = Math.max(last + 1, Date.now())
    return last
  }
}
