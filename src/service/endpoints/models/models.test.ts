import { describe, expect, it } from 'vitest'
import type { Engine, ModelInfo } from '../../../contract/engine.js'
import { scripted } from '../../../engines/scripted.js'
import type { LogEvent } from '../../door/log.js'
import { chatRequest, errorOf, finish, jsonOf, MODEL, pause, serviceOf, text, until } from '../../v1.test-helper.js'

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

describe('another name of a model', () => {
  const models = { 'a/one': 'One.', 'b/two': 'Two.', 'c/two': 'Other two.' }
  const { ask, chat } = serviceOf(scripted({ models }), { aliases: { 'gpt-4o': 'b/two', 'x/y': 'a/one' } })

  it.each([
    ['one', 'a/one'],
    ['gpt-4o', 'b/two'],
    ['x/y', 'a/one'],
    ['c/two', 'c/two'],
  ])('%s means %s, which the answer names', async (name, id) => {
    expect(jsonOf(await chat({ model: name }))).toMatchObject({ model: id })
    expect(jsonOf(await ask(`/models/${name}`))).toMatchObject({ id })
  })

  it('that two models could have belongs to neither, and the list has each model once', async () => {
    expect(errorOf(await chat({ model: 'two' }))).toMatchObject({ status: 404, code: 'model_not_found' })
    const { data } = jsonOf(await ask('/models'))
    expect(data.map(({ id }: { id: string }) => id)).toEqual(Object.keys(models))
  })

  it('must have a model', () => {
    expect(() => serviceOf('Hi', { aliases: { a: 5 as never } })).toThrow("'aliases'")
  })
})
