/** How values of options are read. */
import { InvalidArgumentError } from 'commander'

/** A repeatable option. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value]

/** A whole number within bounds. */
export function count(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
    }
    return number
  }
}
