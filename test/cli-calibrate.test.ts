import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { webgpu } from '../src/engines/webgpu/index.js'
import { tinyRepository, writeRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { createV1 } from '../src/service/v1.js'
import { PROGRAM } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'
import { type Running, start } from './support/spawn.js'

const QUESTIONS = [
  { type: 'predicate', instructions: 'It is spam.' },
  { type: 'choice', instructions: 'Which?', choices: [{ value: 'a' }, { value: true }, { value: 'c' }] },
  { type: 'score', instructions: 'How?', levels: [{ label: 'bad' }, { label: 'so' }, { label: 'good' }] },
]

const folder = ownFolder()
let model: string
const running: Running[] = []
beforeAll(async () => {
  model = join(folder, 'tiny')
  await writeRepository(tinyRepository(), model)
})
afterAll(() => Promise.all(running.map((each) => each.stop())))

async function run(
  command: string,
  args: readonly string[],
  stdin = '',
): Promise<{ code: number | null; output: string }> {
  await writeFile(join(folder, 'stdin'), stdin)
  const all = [process.execPath, PROGRAM, command, '-m', model, '--device', 'cpu', '--cache', join(folder, 'cache')]
  const env = { NO_COLOR: '1', STDIN: join(folder, 'stdin') }
  const each = start('bash', ['-c', 'exec "$0" "$@" < "$STDIN"', ...all, ...args], env)
  running.push(each)
  return { code: (await each.exit).code, output: each.output() }
}

const file = async (name: string, text: string) => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

type Told = { probability: number; probabilities: { value: unknown; label?: string; probability: number }[] }

/** Examples of a model that is surer than it should be: what is right is drawn from its own beliefs, made milder. */
async function overconfident(): Promise<{ lines: string; wanted: number }> {
  const engine = webgpu({ models: [{ id: 'local/tiny', from: model }], device: 'cpu', log: () => {} })
  const v1 = createV1({ engine, keys: 'none' })
  const judged: { probabilities: number[]; right: number }[] = []
  const lines: string[] = []
  for (let i = 0; i < 20; i++) {
    const body = JSON.stringify({ model: 'local/tiny', input: `Text ${i}.`, questions: QUESTIONS })
    const headers = { 'content-type': 'application/json' }
    const response = await v1.fetch(new Request('http://localhost/v1/decisions', { method: 'POST', body, headers }))
    const { answers } = (await response.json()) as { answers: Told[] }
    const questions = answers.map((answer, k) => {
      const options = answer.probabilities ?? [{ value: true }, { value: false }]
      const shares = answer.probabilities?.map((one) => one.probability) ?? [answer.probability, 1 - answer.probability]
      const mild = shares.map((share) => share ** 0.4)
      const all = mild.reduce((sum, weight) => sum + weight, 0)
      const drawn = (((i * 3 + k + 0.5) * 0.6180339887) % 1) * all
      const right = mild.findIndex((_, at) => drawn < mild.slice(0, at + 1).reduce((sum, weight) => sum + weight, 0))
      judged.push({ probabilities: shares, right })
      const { value, label } = options[right] as { value: unknown; label?: string }
      return { ...QUESTIONS[k], answer: label ?? value }
    })
    lines.push(JSON.stringify({ input: `Text ${i}.`, questions }))
  }
  await v1.close()
  const loss = (t: number) =>
    judged.reduce((sum, { probabilities, right }) => {
      const all = probabilities.reduce((total, one) => total + one ** (1 / t), 0)
      return sum - Math.log(probabilities[right]! ** (1 / t) / all)
    }, 0)
  let wanted = 0.05
  for (let t = wanted; t < 20; t *= 1.0005) if (loss(t) < loss(wanted)) wanted = t
  return { lines: lines.join('\n'), wanted }
}

describe('local-v1 calibrate', () => {
  it('fits the temperature of least loss, shows what it changes, and keeps it for those who ask', async () => {
    const { lines, wanted } = await overconfident()
    const fields = JSON.stringify({ input: 'x', fields: { a: { type: 'text', answer: null } } })
    const examples = await file('examples.jsonl', `${lines}\n\n${fields}\n`)
    const svg = join(folder, 'picture.svg')
    const { code, output } = await run('calibrate', ['--examples', examples, '--svg', svg])
    expect(code, output).toBe(0)
    expect(output).toMatch(/^Before: accuracy \d+ %, ECE 0\.\d+, log loss/m)
    const fitted = Number(/^After, at temperature (\S+):/m.exec(output)![1])
    expect(Math.abs(fitted / wanted - 1)).toBeLessThan(0.002)
    expect(output).toContain('60 answers')
    expect(output).toMatch(/^\S*tiny\S*, 1 values of 1 texts$/m)
    const drawn = await readFile(svg, 'utf8')
    expect(drawn).toContain('Before: ECE')
    expect(drawn).toContain('After, at temperature')

    const ask = async (...args: string[]) => {
      const { output } = await run('decide', ['--json', '--choice', 'a', '--choice', 'b', ...args, 'Which?'], 'Text.')
      return JSON.parse(output.slice(output.indexOf('{\n'), output.lastIndexOf('\n}') + 2)).answer.probabilities
    }
    const [own, calibrated] = [await ask(), await ask('--calibrated')]
    const ratio = Math.log(own.a / own.b) / Math.log(calibrated.a / calibrated.b)
    expect(Math.abs(ratio - fitted)).toBeLessThan(1e-3)
    // What was fitted under one order says nothing of the other.
    const other = await run('decide', ['--calibrated', '--order', 'average', 'Is it?'], 'Text.')
    expect(other.code).toBe(1)
    expect(other.output).toMatch(/No temperature was fitted .* order 'average'/)
  })

  it('measures what confidence is worth on extractions, typed fields and documents', async () => {
    const schema = { type: 'object', properties: { a: { enum: [1, 2] }, b: { type: 'boolean' } }, required: ['a', 'b'] }
    const lines = [
      { input: 'One.', schema, answer: { a: 1, b: true } },
      { input: 'Two.', schema, answer: { a: 2, b: true }, instructions: 'Read it.' },
      { input: 'Ann.', fields: { who: { type: 'text', answer: 'Ann' } }, reference_date: '2026-01-01' },
    ]
    const examples = await file('extractions.jsonl', lines.map((line) => JSON.stringify(line)).join('\n'))
    const svg = join(folder, 'values.svg')
    const { code, output } = await run('calibrate', ['--examples', examples, '--svg', svg])
    expect(code, output).toBe(0)
    expect(output).toMatch(/, 5 values of 3 texts$/m)
    expect(output).toMatch(/^Values: accuracy \d+ %, ECE 0\.\d+, log loss/m)
    expect(output).toMatch(/^AUROC of confidence, right against wrong: /m)
    expect(output).toMatch(/^Reviewing the least certain fifth .* of the wrong values/m)
    expect(await readFile(svg, 'utf8')).toContain('Values: ECE')
  })

  it('reads what was written by hand, from a folder too', async () => {
    const written = `Spoken by people.

# mails
I was charged twice.
Again!
? What is it about = *billing | shipping
^ How urgent is it = low | *high
! The customer is glad = false
`
    const { code, output } = await run('calibrate', ['--examples', await file('by-hand.txt', written), '--dry-run'])
    // Three answers may determine no temperature; they are read all the same.
    expect(output, String(code)).toContain('3 answers')
  })

  it.each([
    ['{"input":"x"}', /examples\.jsonl:1 must have 'input' and 'questions'/],
    ['{"input":"x","questions":[{"type":"predicate","instructions":"y"}]}', /:1: questions\[0\] has no 'answer'/],
    ['\n{', /:2 is not JSON/],
    ['', /has no questions/],
    ['{"fields":{"a":{"type":"text","answer":null}}}', /:1 must have 'input', the text/],
    ['{"input":"x","fields":{"a":{"type":"text"}}}', /:1: fields\.a has no 'answer'/],
    ['{"input":"x","schema":{}}', /:1 has no 'answer'/],
  ])('says which line is wrong before a model is opened: %j', async (text, message) => {
    const { code, output } = await run('calibrate', ['--examples', await file('examples.jsonl', text)])
    expect(output).toMatch(message)
    expect(output).not.toContain('tiny: ')
    expect(code).toBe(2)
  })

  it.each([
    [{ type: 'predicate', instructions: 'y', answer: 'yes' }, /answer of a predicate is true or false/],
    [{ ...QUESTIONS[1], answer: 'true' }, /:1: the answer "true" is none of the options/],
    [{ type: 'choice', instructions: 'y', choices: [{ value: 'a' }], answer: 'a' }, /:1: .*questions\[0\]\.choices/],
  ])('says which answer cannot be: %j', async (question, message) => {
    const examples = await file('examples.jsonl', JSON.stringify({ input: 'x', questions: [question] }))
    const { code, output } = await run('calibrate', ['--examples', examples])
    expect(output).toMatch(message)
    expect(code).not.toBe(0)
  })
})
