/** How values of options are read. */
import { InvalidArgumentError } from 'commander'
import { isOrigin } from '../service/index.js'

/** A repeatable option. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value]

/** A whole number within bounds. */
export function count(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = value.trim() === '' ? Number.NaN : Number(value)
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
    }
    return number
  }
}

/** A number within bounds. */
export function decimal(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = value.trim() === '' ? Number.NaN : Number(value)
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`)
  }
}

const UNITS = new Map([
  ['KB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['TB', 1e12],
])

/** `1.5GB`. */
export function size(value: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?([KMGT]B)$/i.exec(value) ?? []
  if (number === undefined || Number(number) === 0)
    throw new InvalidArgumentError('It must be a size, like 500MB or 2GB.')
  return Math.ceil(Number(number) * UNITS.get(unit!.toUpperCase())!)
}

/** `"$FOLDER"` where no such variable is set: models would be looked for, and stored, at the root of the machine. */
export function notEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('It is empty: is the variable set?')
  return value
}

/** What `"$SECRET"` becomes where no such variable is set would let nobody in. */
export const keys = (value: string, before?: string[]): string[] => collect(notEmpty(value), before)

export function origins(value: string, before?: string[]): string[] {
  if (!isOrigin(value))
    throw new InvalidArgumentError("It must be an origin, like https://app.example, or '*' for all.")
  return collect(value, before)
}

/** `name=id`; ids may hold an equals sign, names may not. */
export function aliases(value: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, id] = /^([^=]+)=(.+)$/.exec(value) ?? []
  if (name === undefined || id === undefined) {
    throw new InvalidArgumentError('It must be a name and an id, like gpt-4o-mini=local-v1/nano.')
  }
  return { ...before, [name]: id }
}
