/** The device's own tensor behind the interface's. */
export function own<T>(value: unknown, type: abstract new (...args: never[]) => T): T {
  if (value instanceof type) return value
  throw new TypeError('A tensor of another device was given.')
}
