/**
 * Dawn and the drivers under it write to the terminal past Node. Here no driver can be found, of which both Dawn and the
 * Vulkan loader complain; no command may show it, except that `doctor` tells it in a line of its own.
 */
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { lookForAdapter } from '../src/platform/dawn.js'
import { PROGRAM, SCHEMA } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'

const NO_DRIVER = { VK_DRIVER_FILES: '/no/driver.json', VK_ICD_FILENAMES: '/no/driver.json', NO_COLOR: '1' }
const NATIVE = /vulkan|dawn|\.cpp\b|\bICD\b|Warning:/i

const TICKETS = `# tickets
I was charged twice.
! It is about money. = true
? Which team? = *billing | tech
`

const folder = ownFolder()
beforeAll(async () => {
  await writeFile(join(folder, 'schema.json'), JSON.stringify(SCHEMA))
  await writeFile(join(folder, 'tickets.txt'), TICKETS)
})

/** Every command with arguments that take it as far as it goes without a network. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  serve: ['--port', '0'],
  chat: ['--max-tokens', '2', 'Hi'],
  decide: ['Is it spam?'],
  extract: ['schema.json', 'tickets.txt', '--evidence'],
  calibrate: ['--examples', 'tickets.txt', '--dry-run'],
  bench: ['--only', 'decode', '--prompt-lengths', '32', '--tokens', '4', '--batch', '1', '--rounds', '1'],
  'models list': [],
  'models catalog': [],
  'models pull': ['local-v1/nano'],
  'models fits': ['local-v1/nano'],
  'models verify': ['local-v1/nano'],
  'models remove': ['no/model'],
  'schema check': ['schema.json'],
  doctor: [],
  completion: ['bash'],
}

describe('where no driver can be found', () => {
  it('has a row for every command', async () => {
    const leaves = async (path: readonly string[]): Promise<string[]> => {
      const { stdout } = await ran(...path, '--help')
      const listed = stdout.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? ''
      const names = [...listed.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name!).filter((name) => name !== 'help')
      if (names.length === 0) return [path.join(' ')]
      return (await Promise.all(names.map((name) => leaves([...path, name])))).flat()
    }
    expect((await leaves([])).sort()).toEqual(Object.keys(COMMANDS).sort())
  })

  // Otherwise the rest would hold without us.
  it.runIf(process.platform === 'linux')('there is something to be quiet about', async () => {
    const { stdout } = await ran('doctor')
    expect(stdout).toMatch(/^- {3}drivers {3}say: .*vulkan/im)
    expect(stdout).toMatch(/^ok {2}device {4}cpu .*there is no WebGPU adapter/m)
  })

  // Beside each other: much of each is waiting for what it has started itself.
  it.concurrent.each(Object.entries(COMMANDS))('%s shows its own words alone', async (name, args) => {
    const { stdout, stderr } = await ran(...name.split(' '), ...args)
    expect(stderr).not.toMatch(NATIVE)
    if (name !== 'doctor') expect(stdout).not.toMatch(NATIVE)
    // An error of ours is not lost.
    if (name === 'models remove') expect(stderr).toMatch(/^error: /m)
  })

  it.concurrent.each([
    ['before', ['--verbose', 'chat', '--max-tokens', '2', 'Hi']],
    ['after', ['chat', '--verbose', '--max-tokens', '2', 'Hi']],
  ])('shows it where it is asked to (--verbose %s the command)', async (_, args) => {
    const { stdout, stderr, code } = await ran(...args)
    expect(code).toBe(0)
    expect(stderr).toMatch(NATIVE)
    expect(stdout).not.toMatch(NATIVE)
  })

  it('says so where WebGPU was asked for', async () => {
    const { stderr, code } = await ran('chat', '--device', 'webgpu', 'Hi')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^error: WebGPU cannot be used: there is no WebGPU adapter/m)
    expect(stderr).not.toMatch(NATIVE)
  })
})

it('looks once', () => {
  expect(lookForAdapter()).toBe(lookForAdapter())
})

/** Runs to its end; a server is told to stop once it has begun to load. */
async function ran(...args: string[]): Promise<{ stdout: string; stderr: string; code: number | null }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: folder, env: { ...process.env, ...NO_DRIVER } })
  const written = { stdout: '', stderr: '' }
  child.stdin.end('A text.')
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      written[stream] += text
      if (args[0] === 'serve' && /ready|loaded/i.test(written.stderr + written.stdout)) child.kill('SIGTERM')
    })
  }
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { ...written, code }
}
