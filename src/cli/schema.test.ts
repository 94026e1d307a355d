import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import { describe, expect, it, vi } from 'vitest'
import { ownFolder } from '../../test/support/own-folder.js'
import { checkSchema } from './schema.js'

const folder = ownFolder()

/** What is printed for a schema, and the exit code. */
async function checked(written: string, options: { examples?: number; seed?: number; json?: boolean } = {}) {
  const file = join(folder, 'schema.json')
  await writeFile(file, written)
  let output = ''
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    output += chunk
    return true
  })
  const before = process.exitCode
  process.exitCode = 0
  try {
    await checkSchema(file, { examples: 0, seed: 0, ...options })
    return { output, code: process.exitCode }
  } finally {
    process.exitCode = before
    spy.mockRestore()
  }
}

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2 },
    tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
  },
  required: ['name', 'tags'],
  additionalProperties: false,
}

describe('local-v1 schema check', () => {
  it('says that a schema is enforced and what it costs, with examples that satisfy it', async () => {
    const { output, code } = await checked(JSON.stringify(SCHEMA), { examples: 20, seed: 5, json: true })
    const report = JSON.parse(output)
    expect([code, report.enforced, report.refused]).toEqual([0, true, []])
    expect(report.cost.shortestBytes).toBe('{"name":"aa","tags":[]}'.length)
    for (const key of ['compileMs', 'steps', 'states', 'promptTokens'])
      expect([key, report.cost[key] > 0]).toEqual([key, true])
    const validate = new Ajv().compile(SCHEMA)
    for (const one of report.examples) expect([one, validate(one)]).toEqual([one, true])
    expect(new Set(report.examples.map((one: unknown) => JSON.stringify(one))).size).toBeGreaterThan(10)
    const again = await checked(JSON.stringify(SCHEMA), { examples: 20, seed: 5, json: true })
    expect(JSON.parse(again.output).examples).toEqual(report.examples)
    const spelled = await checked(JSON.stringify(SCHEMA), { examples: 2 })
    expect(spelled.output).toMatch(
      /enforced exactly\n {2}compiled in .* steps\)\n.*states seen.*\n.*23 bytes\n.*prompt\n\{.*\}\n\{.*\}\n$/,
    )
  })

  it('names all that is refused, where and why, and exits with 1', async () => {
    const schema = {
      properties: { 'a b': { pattern: '(a)\\1' }, b: { items: { format: 'colour' } }, c: { minLenght: 3 } },
    }
    const { output, code } = await checked(JSON.stringify(schema))
    expect(code).toBe(1)
    expect(output.split('\n').slice(1)).toEqual([
      '  #/properties/a b  the back-reference \\1 cannot be enforced exactly',
      "  #/properties/b/items  format 'colour' is not supported; say what it means in a 'pattern' instead.",
      "  #/properties/c  'minLenght' is not a keyword; did you mean 'minLength'?",
      '',
    ])
    const json = JSON.parse((await checked(JSON.stringify(schema), { json: true })).output)
    expect(json.refused.map(({ path, keyword }: { path: string[]; keyword: string }) => [...path, keyword])).toEqual([
      ['properties', 'a b', 'pattern'],
      ['properties', 'b', 'items', 'format'],
      ['properties', 'c', 'minLenght'],
    ])
  })

  it('says what no value satisfies', async () => {
    const { output, code } = await checked('{"type":"string","enum":[1]}')
    expect([code, output]).toEqual([1, expect.stringContaining('no value can satisfy the schema')])
  })

  it('refuses a file that is none', async () => {
    await expect(checked('{')).rejects.toThrow('is not JSON')
    await expect(checkSchema(join(folder, 'none.json'), { examples: 0, seed: 0 })).rejects.toThrow('cannot be read')
  })
})
