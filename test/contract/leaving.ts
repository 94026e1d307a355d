import { expect, test } from 'vitest'
import type { Reach } from './reach.js'
import { FLOOD_BYTES } from './scripts.js'
import { CHAT, chat, pause, probe, readUntil, until } from './speak.js'

export function leavingContract(reach: () => Reach): void {
  const gone = (model: string, base?: string) =>
    until(
      () => probe(reach(), model, base),
      ({ active }) => active === 0,
    )

  test.each(['test/endless', 'test/endless-deaf'])('who leaves a stream stops the engine: %s', async (model) => {
    const before = await probe(reach(), model)
    const answer = await reach().open(CHAT, chat(model, { stream: true }))
    await readUntil(answer, 'tick')
    answer.leave()
    const after = await gone(model)
    expect(after.started).toBe(before.started + 1)
    expect(after.aborted).toBe(before.aborted + 1)
    expect(after.stepsAfterAbort - before.stepsAfterAbort).toBeLessThanOrEqual(1)
    await pause(50)
    expect((await probe(reach(), model)).steps).toBe(after.steps)
  })

  test.each([true, false])('who leaves before the first word stops the engine (stream: %s)', async (stream) => {
    const before = await probe(reach(), 'test/thinking')
    await reach().abandon(CHAT, chat('test/thinking', { stream }), () =>
      until(
        () => probe(reach(), 'test/thinking'),
        ({ started }) => started > before.started,
      ),
    )
    const after = await gone('test/thinking')
    expect(after.aborted).toBe(before.aborted + 1)
  })

  test('who stays to the end is not counted as one who left, and the other way round', async () => {
    const outcomes = async (model: string) => (await probe(reach(), model)).outcomes ?? {}
    const before = [await outcomes('test/brief'), await outcomes('test/endless')]
    for (const stream of [false, true]) await reach().fetch(CHAT, chat('test/brief', { stream }))
    const answer = await reach().open(CHAT, chat('test/endless', { stream: true }))
    await readUntil(answer, 'tick')
    answer.leave()
    const left = await until(
      () => outcomes('test/endless'),
      ({ aborted = 0 }) => aborted > (before[1]!.aborted ?? 0),
    )
    expect(left).toEqual({ aborted: (before[1]!.aborted ?? 0) + 1 })
    // Long enough after the end for any word of a closed connection.
    await pause(50)
    expect(await outcomes('test/brief')).toEqual({ ok: (before[0]!.ok ?? 0) + 2 })
  })

  test('a slot is free as soon as its stream is left', async () => {
    const path = '/tight/v1/chat/completions'
    for (let round = 0; round < 5; round++) {
      const answer = await reach().open(path, chat('test/endless', { stream: true }))
      expect(answer.status).toBe(200)
      await readUntil(answer, 'tick')
      answer.leave()
    }
    expect((await reach().fetch(path, chat('test/hello'))).status).toBe(200)
  })

  test('who leaves the queue is never started', async () => {
    const path = '/tight/v1/chat/completions'
    const running = await reach().open(path, chat('test/endless', { stream: true }))
    await readUntil(running, 'tick')
    const brief = () => probe(reach(), 'test/brief', '/tight/v1')
    const { arrived = 0 } = await brief()
    await reach().abandon(path, chat('test/brief'), async () => {
      await until(brief, (now) => now.arrived! > arrived)
      await pause(100)
    })
    await until(brief, ({ outcomes }) => outcomes?.aborted === 1)
    running.leave()
    await gone('test/endless', '/tight/v1')
    expect((await reach().fetch(path, chat('test/hello'))).status).toBe(200)
    expect((await brief()).started).toBe(0)
  })

  test('a reader that does not read holds back the engine', async () => {
    if (reach().buffers === Number.POSITIVE_INFINITY) return
    const before = (await probe(reach(), 'test/flood')).steps
    const made = async () => (await probe(reach(), 'test/flood')).steps - before
    const answer = await reach().open(CHAT, chat('test/flood', { stream: true }))
    await answer.read()
    let stood = await made()
    for (let calm = 0; calm < 5; ) {
      await pause(50)
      const now = await made()
      calm = now === stood ? calm + 1 : 0
      stood = now
      expect(stood * FLOOD_BYTES).toBeLessThan(reach().buffers)
    }
    // And reading lets it go on.
    await until(
      async () => {
        await answer.read()
        return made()
      },
      (steps) => steps > stood,
    )
    answer.leave()
    await gone('test/flood')
  })
}
