import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { start } from '../test/support/spawn.js'
import { HANGS, unlessItHangs } from './hangs.js'

test('what is never settled hangs', async () => {
  expect(await unlessItHangs(() => new Promise(() => {}), 50)).toBe(HANGS)
})

test('a process that is kept waiting does not hang, however late it is', async () => {
  const asleep = new Int32Array(new SharedArrayBuffer(4))
  const late = async () => {
    for (let turn = 0; turn < 10; turn++) {
      await wait(1)
      Atomics.wait(asleep, 0, 0, 20)
    }
    return 'here'
  }
  // It took 200 ms where 50 turns take 50.
  expect(await unlessItHangs(late, 50)).toBe('here')
})

test('what is thrown is thrown on', async () => {
  await expect(unlessItHangs(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
})

test('what never gives way ends the process, and is named', async () => {
  const hangs = fileURLToPath(new URL('hangs.ts', import.meta.url))
  const code = `
    import(${JSON.stringify(hangs)}).then(({ watchForSpins }) => {
      const watch = watchForSpins(1)
      watch.begin('the one before')
      watch.end()
      watch.begin('POST /for-ever')
      for (;;) {}
    })`
  const spinning = start(process.execPath, ['--import', 'tsx', '-e', code])
  await spinning.exit
  expect(spinning.output()).toContain('It spins: POST /for-ever')
})
