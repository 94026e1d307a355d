import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tinyRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { PROGRAM } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'
import { type Running, start } from './support/spawn.js'

const STRING = { type: 'object', properties: { a: { type: 'string', pattern: '(.)\\1' } }, required: ['a'] }
const FILES = {
  'schema.json': { ...STRING, additionalProperties: false },
  'fields.json': { a: { type: 'number', decimals: -1 } },
  'questions.json': { a: { type: 'choice', instructions: 'Which?', choices: ['x', 'x'] } },
  'text.json': 'Some text.',
}

/** Sends what says which model it is, and never a weight. */
const { files } = tinyRepository()
const server = createServer(({ url = '' }, response) => {
  const file = files.get(url.slice(1))
  if (url.endsWith('config.json') && file) response.end(file)
})

const folder = ownFolder()
const running: Running[] = []
beforeAll(async () => {
  for (const [name, value] of Object.entries(FILES)) await writeFile(join(folder, name), JSON.stringify(value))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  await Promise.all(running.map((each) => each.stop()))
  server.close().closeAllConnections()
})

describe('what a model that is never there would refuse', () => {
  it.each([
    [['extract', 'schema.json', 'text.json'], /^error: Invalid schema .*back-reference/m],
    [
      ['extract', 'schema.json', 'text.json', '-'],
      /^text\.json: Invalid schema .*\n-: Invalid schema .*\nerror: 2 of 2 texts/m,
    ],
    [['extract', 'fields.json'], /^error: Invalid 'fields\.a\.decimals'/m],
    [['decide', '--questions', 'questions.json'], /^error: Invalid 'questions\.a\.choices\[1\]/m],
    [['chat', '--schema', 'schema.json', 'Hello'], /^error: Invalid schema .*back-reference/m],
    [['chat', '--schema', 'schema.json'], /^error: Invalid schema .*back-reference/m],
  ])('is told at once: %j', async (args, message) => {
    const model = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const own = ['--model', model, '--device', 'cpu', '--cache', join(folder, 'cache')]
    const command = ['-c', 'exec "$0" "$@" < text.json', process.execPath, PROGRAM, ...args, ...own]
    const each = start('bash', command, { NO_COLOR: '1' }, { cwd: folder })
    running.push(each)
    const { code } = await each.exit
    // The device is opened meanwhile, and is told whenever it is there.
    expect(each.output().replace(/^local-v1 runs on .*\n/m, '')).toMatch(message)
    expect(code).toBe(1)
  })
})
