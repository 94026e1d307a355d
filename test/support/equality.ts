/**
 * Setup of all tests: bytes and lists that are the same are found to be so in a loop. vitest takes microseconds for each
 * number of them, half a second for 100 KB. Whatever differs is left to vitest, which tells how.
 */
import { expect } from 'vitest'

type Numbers = ArrayLike<unknown> & ArrayBufferView

const areNumbers = (value: unknown): value is Numbers => ArrayBuffer.isView(value) && !(value instanceof DataView)
const isPlain = (value: unknown) => typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean'

function same(one: unknown, other: unknown): true | undefined {
  if (areNumbers(one) ? !areNumbers(other) : !Array.isArray(one) || !Array.isArray(other)) return undefined
  const [a, b] = [one, other] as [ArrayLike<unknown>, ArrayLike<unknown>]
  if (a.length !== b.length || a.constructor !== b.constructor) return undefined
  const all = areNumbers(one)
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i]) || !(all || isPlain(a[i]))) return undefined
  return true
}

/** Files that share a process share its testers. */
const ADDED = Symbol.for('local-v1 equality')
if (!(ADDED in globalThis)) {
  Object.assign(globalThis, { [ADDED]: true })
  expect.addEqualityTesters([same])
}
