import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tinyRepository, writeRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { PROGRAM } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'
import { type Running, start } from './support/spawn.js'

const folder = ownFolder()
let model: string
const running: Running[] = []
beforeAll(async () => {
  model = join(folder, 'tiny')
  await writeRepository(tinyRepository(), model)
  await writeFile(join(folder, 'mail.txt'), 'I was charged twice.\n')
})
afterAll(() => Promise.all(running.map((each) => each.stop())))

/** As from a shell, with a mail on standard input. */
async function decide(...args: string[]): Promise<{ code: number | null; output: string }> {
  const command = [process.execPath, PROGRAM, 'decide', '--model', model, '--device', 'cpu', ...args]
  const env = { NO_COLOR: '1', MAIL: join(folder, 'mail.txt') }
  const each = start('bash', ['-c', 'exec "$0" "$@" < "$MAIL"', ...command], env)
  running.push(each)
  return { code: (await each.exit).code, output: each.output() }
}

async function questionsFile(value: unknown): Promise<string> {
  const path = join(folder, 'questions.json')
  await writeFile(path, JSON.stringify(value))
  return path
}

/** The lines that tell how likely each option is. */
const sharesIn = (output: string) =>
  [...output.matchAll(/^ {2}(.+?) +(\d+\.\d) %$/gm)].map(([, option, percent]) => [option!, Number(percent)] as const)

describe('local-v1 decide', () => {
  it('answers a question in words, with how likely yes and no are', async () => {
    const { code, output } = await decide('Is it', 'spam?')
    expect(code, output).toBe(0)
    const [yes, no] = sharesIn(output)
    expect([yes![0], no![0]]).toEqual(['yes', 'no'])
    expect(yes![1] + no![1]).toBeCloseTo(100, 0)
    expect(output).toMatch(yes![1] >= no![1] ? /^yes$/m : /^no$/m)
  })

  it('chooses among options of the command line, the likeliest first', async () => {
    const { code, output } = await decide(
      'Which team?',
      '--choice',
      'billing',
      '--choice',
      'tech',
      '--order',
      'average',
    )
    expect(code, output).toBe(0)
    const [first, second] = sharesIn(output)
    expect([first![0], second![0]].sort()).toEqual(['billing', 'tech'])
    expect(first![1]).toBeGreaterThanOrEqual(second![1])
    expect(output).toMatch(new RegExp(`^${first![0]}$`, 'm'))
  })

  it('answers a file of questions as JSON on stdout', async () => {
    const file = await questionsFile({
      spam: { type: 'predicate', instructions: 'It is spam.' },
      mood: { type: 'score', instructions: 'The mood?', levels: ['bad', { label: 'good' }] },
    })
    const { code, output } = await decide('--questions', file, '--json')
    expect(code, output).toBe(0)
    const answers = JSON.parse(output.slice(output.indexOf('{\n'), output.lastIndexOf('\n}') + 2))
    expect(answers).toMatchObject({
      spam: { type: 'predicate', probability: expect.any(Number) },
      mood: { type: 'score', score: expect.any(Number), probabilities: { bad: expect.any(Number) } },
    })
    expect(answers.mood.score).toBeCloseTo(answers.mood.probabilities.good, 12)
  })

  it.each([
    [[], /one question in words, or several with --questions/],
    [['Spam?', '--choice', 'a', '--level', 'b'], /two kinds of question/],
    [['Spam?', '--choice', 'a'], /--choice "a" is the only one: give --choice once for each option, 2 to 255/],
    [['Spam?', '--level', 'low'], /--level "low" is the only one/],
    [['Spam?', ...Array.from({ length: 256 }, (_, i) => ['--choice', `n${i}`]).flat()], /given 256 times/],
    [['Spam?', '--choice', 'a', '--choice', ''], /--choice is empty: give each option a name/],
    [['Which?', '--choice', 'a', '--choice', 'b', '--choice', 'a'], /--choice "a" is given twice/],
    [['Spam?', '--questions', '/nowhere.json'], /one question in words, or several/],
    [['--questions', '/nowhere.json'], /questions file \/nowhere\.json cannot be read/],
  ])('says what is asked wrongly, before a model is opened: %j', async (args, message) => {
    const { code, output } = await decide(...args)
    expect(output).toMatch(message)
    expect(code).toBe(2)
  })

  it('says what is wrong with a question', async () => {
    const twice = { type: 'choice', instructions: 'Which?', choices: ['a', 'a'] }
    const alike = await decide('--questions', await questionsFile({ team: twice }))
    expect(alike.output).toMatch(/error: .*questions\.team\.choices\[1\]\.value.*the same/)
    expect(alike.code).toBe(1)
    const none = await decide('--questions', await questionsFile(['It is spam.']))
    expect(none.output).toMatch(/must contain an object of questions/)
    expect(none.code).toBe(2)
  })
})
