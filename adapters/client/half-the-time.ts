/**
 * What is done again for each piece of something that grows, such as reading a document from its beginning: not before as
 * much time has gone by as it took the last time, so that at most half of it is spent so. What came last is for whoever
 * calls it at the end.
 */
export function halfTheTime(work: () => void, now = () => performance.now()): () => void {
  let [ended, took] = [Number.NEGATIVE_INFINITY, 0]
  return () => {
    const began = now()
    if (began - ended < took) return
    work()
    ended = now()
    took = ended - began
  }
}
