import { floatToHalf } from '../../../src/platform/half.js'

/** In a loop of its own, as an iterator makes an object for each of millions. */
export function halvesOf(values: ArrayLike<number>): Uint16Array<ArrayBuffer> {
  const halves = new Uint16Array(values.length)
  for (let i = 0; i < halves.length; i++) halves[i] = floatToHalf(values[i]!)
  return halves
}
