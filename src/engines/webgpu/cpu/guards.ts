/** Checks of what a pass is given, before the kernels, which check nothing, touch memory. */

/** The device's own tensor behind the interface's. */
export function own<T>(value: unknown, type: abstract new (...args: never[]) => T): T {
  if (value instanceof type) return value
  throw new TypeError('A tensor of another device was given.')
}

export function expectFit(what: string, actual: number, least: number): void {
  if (actual < least) throw new RangeError(`${what}: ${actual} where at least ${least} are needed.`)
}
