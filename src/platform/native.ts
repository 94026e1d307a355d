/**
 * Native code in this thread that has promised something: the npm package `webgpu`. It ends the whole process where a
 * thread is torn down while a promise of its own is still open, so who ends a thread has to know, and let it come to an
 * end by itself.
 */
import { atMost } from './wait.js'

/** Lets go of what promises wait for, so that they settle. */
type LetGo = () => void

const held = new Set<LetGo>()
const open = new Set<Promise<unknown>>()
let listener: (() => void) | undefined
let there = false

/** Longer than a kernel takes to be compiled in software. */
const SETTLED_MS = 8000

/** Such code has come into this thread. */
export function nativeIsHere(): void {
  there = true
  listener?.()
}

/** Calls back, once, as soon as such code is in this thread. */
export function whenNativeIsHere(hear: () => void): void {
  listener = hear
  if (there) hear()
}

/** To be called once what it lets go of is made; the returned function forgets it. */
export function heldByNative(letGo: LetGo): () => void {
  held.add(letGo)
  return () => held.delete(letGo)
}

/** The same promise; it is known that it is open. */
export function ofNative<T>(promise: Promise<T>): Promise<T> {
  const over = promise
    .catch(() => {})
    .then(() => {
      open.delete(over)
    })
  open.add(over)
  return promise
}

/** Nothing is open any more. */
export async function leaveNative(): Promise<void> {
  for (const letGo of held) letGo()
  const settled = async () => {
    while (open.size > 0) await Promise.all(open)
  }
  await atMost(SETTLED_MS, settled())
}
