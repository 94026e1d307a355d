import { expect, test } from 'vitest'
import type { Answer, Reach } from './reach.js'
import { FLOOD_BYTES } from './scripts.js'
import { CHAT, chat, pause, probe, readUntil, until } from './speak.js'

export function leavingContract(reach: () => Reach): void {
  const gone = (model: string, base?: string) =>
    until(
      () => probe(reach(), model, base),
      ({ active }) => active === 0,
    )

  /** A request that waits; it is refused for as long as the only place in line is taken. */
  async function inLine(path: string): Promise<{ answer: Promise<Answer> }> {
    for (;;) {
      const answer = reach().fetch(path, chat('test/hello'))
      if (!(await Promise.race([answer, pause(100)]))) return { answer }
    }
  }

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
    await reach().abandon(path, chat('test/brief'), () => pause(100))
    const next = await inLine(path)
    running.leave()
    expect((await next.answer).status).toBe(200)
    expect((await probe(reach(), 'test/brief', '/tight/v1')).started).toBe(0)
  })

  test('a reader that does not read holds back the engine', async () => {
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
