/** Where the first of an ascending list is that is not less, of those from one place up to another. */
export function below(list: ArrayLike<number>, value: number, from = 0, to = list.length): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >> 1
    if (list[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}

/** The same among texts, sorted. */
export function belowText(sorted: readonly string[], text: string, from = 0, to = sorted.length): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < text) low = middle + 1
    else high = middle
  }
  return low
}

export function hasText(sorted: readonly string[], text: string): boolean {
  return sorted[belowText(sorted, text)] === text
}

/** With this one in its place; the same where it has it. */
export function withText(sorted: readonly string[], text: string): readonly string[] {
  const at = belowText(sorted, text)
  return sorted[at] === text ? sorted : sorted.toSpliced(at, 0, text)
}
