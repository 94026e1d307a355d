import { expect, test, vi } from 'vitest'
import { type Loaded, ModelSet } from './model-set.js'

const { signal } = new AbortController()
const noProgress = () => {}

/** Models that take all the memory there is, each; a load ends when `finish` is called, where that was asked for. */
function setUp({ held = false } = {}) {
  const loads: { readonly id: string; finish(): void }[] = []
  const closed = vi.fn<(id: string) => void>()
  const set = new ModelSet<{ readonly id: string }, Loaded>({
    async load({ id }, { makeRoom }) {
      // Something is always fetched.
      await new Promise((resolve) => setTimeout(resolve, 0))
      await makeRoom(() => [...set.loaded].length === 0)
      const runner = { failure: undefined as unknown, abandon: () => {}, close: async () => {} }
      runner.close = async () => {
        runner.failure = new Error('closed')
        closed(id)
      }
      await new Promise<void>((resolve) => {
        loads.push({ id, finish: resolve })
        if (!held) resolve()
      })
      return { id, bytes: 1, runner }
    },
  })
  /** Uses a model until `end` is called. */
  const use = (id: string) => {
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    let hasBegun = () => {}
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve
    })
    const done = set.ask({ id }, signal, async () => {
      hasBegun()
      await ended
    })
    return { begun, end, done }
  }
  return { set, loads, closed, use }
}

test('a model comes to its turn, though the one that must make room always has somebody', async () => {
  const { use, loads } = setUp()
  let last = use('busy')
  await last.begun
  const other = use('other')
  let isThere = false
  void other.begun.then(() => {
    isThere = true
  })
  let passed = 0
  while (!isThere) {
    expect(passed++).toBeLessThan(50)
    // There is no moment at which nobody is there, or asks for it.
    const next = use('busy')
    await Promise.race([next.begun, new Promise((resolve) => setTimeout(resolve, 1))])
    last.end()
    await last.done
    await new Promise((resolve) => setTimeout(resolve, 1))
    last = next
  }
  expect(passed).toBeGreaterThan(4)
  other.end()
  last.end()
  await Promise.all([other.done, last.done])
  // Who stood behind it has its turn after it.
  expect(loads.map(({ id }) => id)).toEqual(['busy', 'other', 'busy'])
})

test('who may not begin yet may leave, and a load that is given up holds nobody back', async () => {
  const { set, use, loads } = setUp()
  const last = use('busy')
  await last.begun
  const gaveUp = new AbortController()
  const other = set.ready({ id: 'other' }, gaveUp.signal, noProgress)
  // As many as may pass.
  for (let i = 0; i < 20; i++) {
    const more = use('busy')
    more.end()
    await Promise.race([more.done, new Promise((resolve) => setTimeout(resolve, 1))])
  }
  const late = new AbortController()
  const behind = set.ask({ id: 'busy' }, late.signal, () => {})
  late.abort(new Error('left, too'))
  await expect(behind).rejects.toThrow('left, too')
  gaveUp.abort(new Error('left'))
  await expect(other).rejects.toThrow('left')
  const next = use('busy')
  await next.begun
  for (const each of [last, next]) {
    each.end()
    await each.done
  }
  expect(loads.map(({ id }) => id)).toEqual(['busy'])
})

test('a model that is unloaded at the end of its load is not there', async () => {
  const { set, loads, closed } = setUp({ held: true })
  const ready = set.ready({ id: 'one' }, signal, noProgress)
  const refused = expect(ready).rejects.toMatchObject({
    ...{ status: 503, code: 'model_unloaded' },
    message: "The model 'one' was unloaded while it was being loaded.",
  })
  await vi.waitFor(() => expect(loads).toHaveLength(1))
  const unloading = set.unload('one')
  // It was past all that asks whether anybody still wants it.
  loads[0]!.finish()
  await unloading
  await refused
  expect([set.find('one'), closed.mock.calls]).toEqual([undefined, [['one']]])
  const again = set.ready({ id: 'one' }, signal, noProgress)
  await vi.waitFor(() => expect(loads).toHaveLength(2))
  loads[1]!.finish()
  expect((await again).id).toBe('one')
})

test('what is unloaded has let go of all that its load had, and what stands in the line holds nothing', async () => {
  const { set, loads } = setUp({ held: true })
  const asked = ['one', 'two', 'three'].map((id) => set.ready({ id }, signal, noProgress))
  const refused = asked.slice(0, 2).map((each) => expect(each).rejects.toMatchObject({ code: 'model_unloaded' }))
  await vi.waitFor(() => expect(loads).toHaveLength(1))
  await set.unload('two')
  await refused[1]
  let unloaded = false
  const unloading = set.unload('one').then(() => {
    unloaded = true
  })
  await new Promise((resolve) => setTimeout(resolve, 10))
  // The third is no further for it that the second has gone.
  expect([unloaded, loads.map(({ id }) => id)]).toEqual([false, ['one']])
  loads[0]!.finish()
  await Promise.all([unloading, refused[0]])
  await vi.waitFor(() => expect(loads).toHaveLength(2))
  loads[1]!.finish()
  expect((await asked[2]!).id).toBe('three')
})

test('what is being deleted is loaded by nobody, and whoever had asked before does not ask again by itself', async () => {
  const { set, loads, use } = setUp({ held: true })
  const deleted = { status: 503, code: 'model_deleted', headers: { 'x-should-retry': 'false' } }
  const one = use('one')
  await vi.waitFor(() => expect(loads).toHaveLength(1))
  loads[0]!.finish()
  await one.begun
  const abandoned = vi.spyOn(set.find('one')!.runner, 'abandon')
  let erase = () => {}
  const erasing = vi.fn(() => new Promise<void>((resolve) => (erase = resolve)))
  let over = 0
  const count = () => over++
  // Two who delete it at once.
  const removing = [set.remove('one', erasing).then(count), set.remove('one', erasing).then(count)]
  expect(abandoned.mock.calls).toEqual([[expect.objectContaining(deleted)]])
  await vi.waitFor(() => expect(erasing).toHaveBeenCalledOnce())
  await expect(set.ready({ id: 'one' }, signal, noProgress)).rejects.toMatchObject(deleted)
  expect([over, loads.length, set.find('one')]).toEqual([0, 1, undefined])
  erase()
  await Promise.all(removing)
  one.end()
  await one.done
  // Of a load on its way, too; and once it is deleted it may be loaded anew.
  const next = set.ready({ id: 'one' }, signal, noProgress)
  const refused = expect(next).rejects.toMatchObject(deleted)
  await vi.waitFor(() => expect(loads).toHaveLength(2))
  const again = set.remove('one', async () => {})
  loads[1]!.finish()
  await Promise.all([refused, again])
  await expect(set.remove('one', () => Promise.reject(new Error('EACCES')))).rejects.toThrow('EACCES')
  const last = set.ready({ id: 'one' }, signal, noProgress)
  await vi.waitFor(() => expect(loads).toHaveLength(3))
  loads[2]!.finish()
  expect((await last).id).toBe('one')
})
