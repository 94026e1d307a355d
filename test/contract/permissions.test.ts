import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startDeno } from '../support/deno.js'

const nano = fileURLToPath(new URL('../../models/nano/', import.meta.url))

async function answers(...permissions: string[]) {
  const deno = await startDeno('test/contract/permissions-entry.ts', { permissions, args: [nano] })
  const [line] = await deno.line(/^\[.*\]$/)
  await deno.exit
  return JSON.parse(line) as unknown
}

test.each([
  ['--allow-env', []],
  ['--allow-sys', ['--allow-env']],
])('where Deno is not given %s, the error says so, without names of variables and folders', async (flag, given) => {
  const message = `The service may not do what this request needs: start it with ${flag}.`
  const refused = ['false', { message, type: 'server_error', param: null, code: 'not_permitted' }]
  expect(await answers(...given)).toEqual([refused, refused])
})

test('what may not be read or fetched is named with the flag', async () => {
  const ends = (flag: string) => ({
    message: expect.stringMatching(new RegExp(`: start the program with ${flag}\\.$`)),
  })
  expect(await answers('--allow-env', '--allow-sys')).toMatchObject([
    [null, ends('--allow-read')],
    ['true', ends('--allow-net')],
  ])
})
