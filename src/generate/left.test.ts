/** What is done for those who have left: nothing, from the step in which it is noticed. Work is counted, no clock asked. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ChatCall } from '../contract/engine.js'
import { ChatText } from './chat-text.js'
import { call, collect, nextTurn, setUp } from './testing/call.test-helper.js'
import { smallTokenizer } from './testing/small-tokenizer.test-helper.js'

const CROWD = 24
const GUEST = 'guest'

/** Counts the pieces of work in which the crowd's prompts are taken apart. */
class CountedText extends ChatText {
  crowds = 0
  onSlice = () => {}

  override *promptInSlices(call: ChatCall, capacity?: number) {
    const work = super.promptInSlices(call, capacity)
    for (;;) {
      if (call.caller !== GUEST) this.crowds++
      this.onSlice()
      const { done, value } = work.next()
      if (done) return value
      yield
    }
  }
}

const requestOf = (caller: string, text: string, more: Partial<ChatCall> = {}) =>
  call({ caller, messages: [{ role: 'user', content: text }], ...more })
/** Its prompt is taken apart in several pieces, too. */
const guest = requestOf(GUEST, 'word '.repeat(900), { maxTokens: 5, ignoreEnds: true })

function service(before: () => Promise<void> | void = () => {}) {
  const text = new CountedText(smallTokenizer())
  const { decoder, model } = setUp({ maxChunk: 32, pages: 8192, before }, text)
  const fedUntil = (pass: number) =>
    model.steps
      .slice(0, pass)
      .flat()
      .reduce((sum, { tokens }) => sum + tokens, 0)
  return { text, decoder, model, fedUntil }
}

/** Turns of the event loop that some work takes. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let over = false
  const done = work().finally(() => {
    over = true
  })
  let turns = 0
  for (; !over; turns++) await nextTurn()
  await done
  return turns
}

// On a clock that stands still, each slice is followed by one turn.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

test.each([
  ['while their prompts are taken apart', 'slice'],
  ['in the midst of a pass', 'pass'],
  ['between two passes', 'turn'],
])('who leave %s', async (_, when) => {
  const crowd = Array.from({ length: CROWD }, () => new AbortController())
  let then: { slices: number; passes: number } | undefined
  const leave = () => {
    then = { slices: text.crowds, passes: model.steps.length }
    for (const leaving of crowd) leaving.abort(new Error('gone'))
  }
  const { text, decoder, model, fedUntil } = service(async () => {
    if (when !== 'pass' || then || model.steps.length !== 12) return
    leave()
    // The pass comes to its end, and is counted there.
    then!.passes++
    await nextTurn()
  })
  text.onSlice = () => {
    // All have begun, and half of them are at their second piece.
    if (when === 'slice' && text.crowds === 1.5 * CROWD) leave()
  }
  const left = crowd.map(({ signal }, i) =>
    collect(decoder.generate(requestOf(`crowd ${i}`, `${i} ${'word '.repeat(900)}`, { signal }))),
  )
  const over = Promise.allSettled(left)
  while (!then) {
    await nextTurn()
    if (when === 'turn' && model.steps.length >= 12) leave()
  }
  // Whoever comes now has the next turn, and every pass.
  const turns = await turnsOf(() => collect(decoder.generate(guest)))
  const alone = service()
  expect(turns).toBeLessThanOrEqual(3 + (await turnsOf(() => collect(alone.decoder.generate(guest)))))
  expect(model.steps.length - then.passes).toBe(alone.model.steps.length)
  expect(fedUntil(Infinity) - fedUntil(then.passes)).toBe(alone.fedUntil(Infinity))
  expect(text.crowds).toBe(then.slices)
  for (const { status } of await over) expect(status).toBe('rejected')
  expect([model.openSequences, decoder.idle]).toEqual([1, true])
})

test('who leave while somebody else is answered take no part in the passes that follow', async () => {
  const crowd: AbortController[] = []
  const { decoder, model } = service()
  const stays = collect(decoder.generate(requestOf(GUEST, 'And I?', { maxTokens: 60, ignoreEnds: true })))
  const left = Array.from({ length: 12 }, (_, i) => {
    const leaving = new AbortController()
    crowd.push(leaving)
    const one = requestOf('crowd', `${i} ${'word '.repeat(40)}`, {
      signal: leaving.signal,
      maxTokens: 400,
      ignoreEnds: true,
    })
    return collect(decoder.generate(one)).catch(() => 'left')
  })
  while (model.steps.length < 40) await nextTurn()
  expect(model.steps.at(-1)!.length).toBeGreaterThan(1)
  for (const leaving of crowd) leaving.abort(new Error('gone'))
  const then = model.steps.length
  expect(await Promise.all(left)).toEqual(left.map(() => 'left'))
  expect((await stays).usage.completionTokens).toBe(60)
  // Of each pass one row of one token: the guest's own.
  expect(model.steps.slice(then).map((rows) => rows.map(({ tokens }) => tokens))).toEqual(
    model.steps.slice(then).map(() => [1]),
  )
})
