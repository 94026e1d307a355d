import { beforeAll, expect, it, vi } from 'vitest'
import { breathe, inTurns } from './turns.js'

// How turns are waited for is settled with the first.
beforeAll(async () => {
  vi.stubGlobal('setImmediate', undefined)
  await breathe()
  vi.unstubAllGlobals()
})

it('a turn of the event loop is one for all who ask before it comes, and another for who asks then', async () => {
  const first = breathe()
  expect(breathe()).toBe(first)
  await first
  const second = breathe()
  expect(second).not.toBe(first)
  await second
})

it('work in slices lets messages, timers and other work have their turns', async () => {
  const order: string[] = []
  const { port1, port2 } = new MessageChannel()
  const received = new Promise<void>((resolve) => {
    port1.onmessage = () => {
      order.push('message')
      resolve()
    }
  })
  // As long as nobody else was heard, and no longer than a slice would hold them up.
  function* work(name: string) {
    const until = performance.now() + 10_000
    while (order.length < 2 && performance.now() < until) yield
    order.push(name)
  }
  port2.postMessage(null)
  setTimeout(() => order.push('timer'), 1)
  await Promise.all([received, inTurns(work('one'), undefined, 'a'), inTurns(work('other'), undefined, 'b')])
  port1.close()
  expect(order.slice(0, 2).sort()).toEqual(['message', 'timer'])
  expect(order.slice(2).sort()).toEqual(['one', 'other'])
})
