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
