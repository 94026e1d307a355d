import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROGRAM } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'
import { type Running, start } from './support/spawn.js'

const TEXT = 'Please send 12 desk lamps, it is urgent. Due 4 March 2026.'
const SCHEMA = {
  type: 'object',
  properties: { quantity: { type: 'integer' }, urgent: { type: 'boolean' } },
  required: ['quantity', 'urgent'],
  additionalProperties: false,
}
const FIELDS = {
  quantity: { type: 'number' },
  due: { type: 'date', instructions: 'when it is due' },
  things: { type: 'list', items: 'text' },
}

const folder = ownFolder()
const running: Running[] = []
beforeAll(async () => {
  const files = { 'text.txt': TEXT, 'schema.json': JSON.stringify(SCHEMA), 'fields.json': JSON.stringify(FIELDS) }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
})
afterAll(() => Promise.all(running.map((each) => each.stop())))

/** As from a shell in the folder of the files, over nano. */
async function extract(...args: string[]): Promise<{ code: number | null; output: string }> {
  const command = `cd "$FOLDER" && exec "$0" "$@" < text.txt`
  const env = { NO_COLOR: '1', FOLDER: folder }
  const each = start('bash', ['-c', command, process.execPath, PROGRAM, 'extract', '--device', 'cpu', ...args], env)
  running.push(each)
  return { code: (await each.exit).code, output: each.output() }
}

const jsonIn = (output: string) => JSON.parse(output.slice(output.indexOf('{\n'), output.lastIndexOf('\n}') + 2))

describe('local-v1 extract', () => {
  it('writes the document of a schema, from a file and from standard input', async () => {
    const [named, piped] = [await extract('schema.json', 'text.txt'), await extract('schema.json')]
    expect(named.code, named.output).toBe(0)
    expect(jsonIn(named.output)).toMatchObject({ quantity: expect.any(Number), urgent: expect.any(Boolean) })
    expect(jsonIn(piped.output)).toEqual(jsonIn(named.output))
  })

  it('tells what each value rests on, for a person and as JSON', async () => {
    const { code, output } = await extract('schema.json', 'text.txt', '--evidence')
    expect(code, output).toBe(0)
    expect(output).toMatch(/^\/quantity +\d+ +\d+\.\d %/m)
    expect(output).toMatch(/^\/urgent +(true|false) +\d+\.\d % +else (true|false) \d+\.\d %$/m)
    const { value, evidence } = jsonIn((await extract('schema.json', 'text.txt', '--evidence', '--json')).output)
    expect(Object.keys(evidence)).toEqual(['/quantity', '/urgent'])
    const { source } = evidence['/quantity']
    // Where the table says that it stands.
    if (source) expect(output).toContain(`"${TEXT.slice(source.start, source.end)}" at ${source.start}`)
    expect(output).toContain(`  ${value.quantity} `)
  })

  it('writes a line for each of several files, in their order', async () => {
    const { code, output } = await extract('schema.json', 'text.txt', '-', 'text.txt')
    expect(code, output).toBe(0)
    const lines = output.split('\n').filter((line) => line.startsWith('{'))
    const rows = lines.map((line) => JSON.parse(line) as { file: string; quantity: number })
    expect(rows.map(({ file }) => file)).toEqual(['text.txt', '-', 'text.txt'])
    expect(rows[1]).toMatchObject({ quantity: rows[0]!.quantity, urgent: expect.any(Boolean) })
  })

  it('reads typed fields', async () => {
    const { code, output } = await extract('fields.json', 'text.txt', '--reference-date', '2026-01-01')
    expect(code, output).toBe(0)
    expect(output).toMatch(/^quantity {2}\S/m)
    expect(output).toMatch(/^due +\S/m)
    const answers = jsonIn((await extract('fields.json', '--json')).output)
    expect(answers).toMatchObject({ quantity: { type: 'number' }, due: { type: 'date' } })
    const row = output.split('\n').find((line) => line.startsWith('things'))
    for (const span of answers.things.spans ?? []) {
      if (span) expect(row).toContain(`${JSON.stringify(TEXT.slice(...(span as [number, number])))} at ${span[0]}`)
    }
    const wrong = await extract('fields.json', '--reference-date', 'tomorrow')
    expect(wrong.output).toMatch(/error: Invalid 'reference_date'/)
    expect(wrong.code).toBe(1)
  })

  it('says once that its model cannot be loaded', async () => {
    const { code, output } = await extract('schema.json', '--model', folder)
    expect(output).toMatch(/^error: The model at /m)
    expect(output.match(/cannot be loaded/g)).toHaveLength(1)
    expect(code).toBe(1)
  })

  it.each([
    [['nowhere.json'], /schema file nowhere\.json cannot be read/],
    [['text.txt'], /schema file text\.txt is not JSON/],
    [['schema.json', 'nowhere.txt'], /text nowhere\.txt cannot be read/],
    [['schema.json', '--locale', 'de'], /--reference-date and --locale only work with fields/],
    [['fields.json', '--instructions', 'x'], /--instructions only works with a schema/],
  ])('says what is asked wrongly, before a model is opened: %j', async (args, message) => {
    const { code, output } = await extract(...args)
    expect(output).toMatch(message)
    expect(code).toBe(2)
  })
})
