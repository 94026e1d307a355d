import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { scripted } from '../../engines/scripted.js'
import { createV1 } from '../v1.js'
import { MODEL } from '../v1.test-helper.js'
import { BEGIN_PER_TURN, Entrance } from './entrance.js'

const keys = [
  { key: 'sk-many', id: 'many' },
  { key: 'sk-one', id: 'one' },
]

/** Sends requests, all at once, and keeps in which turn of the event loop and as which of them each was answered. */
async function answersOf(requests: readonly (readonly [key: string, path: string])[]) {
  const v1 = createV1({ engine: scripted({ models: { [MODEL]: 'Hello' } }), keys, log: () => {} })
  let turn = 0
  let counting = true
  let answered = 0
  const next = () => {
    turn++
    if (counting) setImmediate(next)
  }
  setImmediate(next)
  const answers = await Promise.all(
    requests.map(async ([key, path]) => {
      const headers = { authorization: `Bearer ${key}` }
      const { status } = await v1.fetch(new Request(`http://device.test/v1${path}`, { headers }))
      return { status, turn, place: answered++ }
    }),
  )
  counting = false
  return answers
}

const flood = (path: string, key = 'sk-many') => Array.from({ length: 320 }, () => [key, path] as const)

describe('requests that come all at once', () => {
  it.each([
    ['served', '/models', 'sk-many', 200],
    ['refused by name', '/models/nothing', 'sk-many', 404],
    ['unknown', '/nothing', 'sk-many', 404],
    ['without a key that we know', '/models', 'sk-wrong', 401],
  ])('begin in several turns of the event loop: %s', async (_, path, key, status) => {
    const answers = await answersOf(flood(path, key))
    const perTurn = new Map<number, number>()
    for (const { turn } of answers) perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1)
    expect(answers.map((each) => each.status)).toEqual(answers.map(() => status))
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(2 * BEGIN_PER_TURN)
  })

  it('do not keep another caller waiting for all of them', async () => {
    const answers = await answersOf([...flood('/models'), ['sk-one', '/models']])
    const newcomer = answers.at(-1)!
    expect(newcomer.status).toBe(200)
    expect(newcomer.place).toBeLessThanOrEqual(2 * BEGIN_PER_TURN)
  })
})

describe('an entrance', () => {
  const atOnce = (entrance: Entrance, count: number) => Array.from({ length: count }, () => entrance.enter('many'))
  const begun = (waits: readonly unknown[]) => waits.filter((wait) => wait === undefined).length

  it('lets just so many begin at once', () => {
    expect(begun(atOnce(new Entrance(), 3 * BEGIN_PER_TURN))).toBe(BEGIN_PER_TURN)
  })

  it('has whoever comes while those who waited begin wait for a turn as well', async () => {
    const entrance = new Entrance()
    const waits = atOnce(entrance, 3 * BEGIN_PER_TURN)
    await waits[BEGIN_PER_TURN]
    // Still in the turn in which as many as may have begun.
    expect(begun(atOnce(entrance, 2 * BEGIN_PER_TURN))).toBe(0)
  })

  it('is as it was once all have begun', async () => {
    const entrance = new Entrance()
    await Promise.all(atOnce(entrance, 2 * BEGIN_PER_TURN + 1))
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(begun(atOnce(entrance, 2 * BEGIN_PER_TURN))).toBe(BEGIN_PER_TURN)
  })

  it('that nobody uses any longer lets the process end', async () => {
    const script = `
      const { Entrance } = await import(${JSON.stringify(fileURLToPath(new URL('entrance.ts', import.meta.url)))})
      const entrance = new Entrance()
      await Promise.all(Array.from({ length: 40 }, () => entrance.enter('one')))
    `
    const args = ['--import', 'tsx', '--input-type=module', '-e', script]
    await expect(promisify(execFile)(process.execPath, args, { timeout: 60_000 })).resolves.toBeDefined()
  })
})
