import { expect, it } from 'vitest'
import type { Engine, ModelInfo } from '../engine.js'
import type { LogEvent } from '../log.js'
import { chatRequest, finish, jsonOf, MODEL, pause, serviceOf, text, until } from '../v1.test-helper.js'

/** An engine that has no models until it has looked around. */
function lookingAround() {
  let models: ModelInfo[] = []
  let looked = () => {}
  const ready = new Promise<void>((resolve) => {
    looked = () => {
      models = [{ id: MODEL, ownedBy: 'me' }]
      resolve()
    }
  })
  const engine: Engine = {
    get models() {
      return models
    },
    ready,
    async *generate() {
      yield text('Hello')
      yield finish()
    },
  }
  return { engine, looked: () => looked() }
}

it('what an engine has is asked once it has looked around', async () => {
  const { engine, looked } = lookingAround()
  const { ask, chat } = serviceOf(engine)
  const answers = [ask('/models'), ask(`/models/${MODEL}`), chat()]
  await pause(10)
  looked()
  const [list, one, completion] = await Promise.all(answers)
  expect(jsonOf(list!)).toMatchObject({ data: [{ id: MODEL }] })
  expect([one!.status, completion!.status]).toEqual([200, 200])
})

it('who leaves does not wait for that', async () => {
  const { engine } = lookingAround()
  const events: LogEvent[] = []
  const { v1 } = serviceOf(engine, { log: (event) => events.push(event) })
  const aborter = new AbortController()
  void v1.fetch(chatRequest({}, { signal: aborter.signal }))
  setTimeout(() => aborter.abort(), 5)
  await until(() => events.length > 0)
  expect(events).toMatchObject([{ status: 499 }])
})
