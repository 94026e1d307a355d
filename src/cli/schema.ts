import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { describeSchema } from '../generate/index.js'
import { compile, example, type Grammar, SchemaError, type SchemaPath } from '../grammar/index.js'
import { Fault } from './fault.js'
import { paint } from './terminal.js'

interface CheckOptions {
  readonly examples: number
  readonly seed: number
  readonly json?: boolean
}

/** The first compilation of a process takes many times as long as any other. */
const ROUNDS = 5

function millisecondsOf(work: () => unknown): number {
  const before = performance.now()
  work()
  return performance.now() - before
}

/** Bytes of English and JSON that a token stands for, about. */
const BYTES_PER_TOKEN = 4

/** Says of a JSON Schema whether it is enforced exactly, what of it is not, and what it costs. */
export async function checkSchema(file: string, options: CheckOptions): Promise<void> {
  const schema = await read(file)
  const { grammar, refused } = compiled(schema)
  const compileMs = Math.min(...Array.from({ length: ROUNDS }, () => millisecondsOf(() => compiled(schema))))
  const examples = grammar === undefined ? [] : examplesOf(grammar, options)
  const promptBytes = refused.length > 0 ? 0 : new TextEncoder().encode(describeSchema(schema as boolean)).length
  const cost = grammar && {
    compileMs: Number(compileMs.toFixed(2)),
    steps: grammar.steps,
    states: grammar.states,
    shortestBytes: grammar.shortest,
    promptTokens: Math.ceil(promptBytes / BYTES_PER_TOKEN),
  }
  const report = { file, enforced: refused.length === 0, refused: refused.map(refusalOf).sort(byPlace), cost, examples }
  process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : spelled(report))
  if (!report.enforced) process.exitCode = 1
}

async function read(file: string): Promise<unknown> {
  let written: string
  try {
    written = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
  } catch (error) {
    throw new Fault(`${file} cannot be read: ${(error as Error).message}`)
  }
  try {
    return JSON.parse(written.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new Fault(`${file} is not JSON: ${(error as Error).message}`)
  }
}

/** Strictly; where that is refused, what all would be left out. */
function compiled(schema: unknown): { grammar: Grammar | undefined; refused: readonly SchemaError[] } {
  try {
    return { grammar: compile(schema), refused: [] }
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return { grammar: undefined, refused: allRefused(schema, error) }
  }
}

function allRefused(schema: unknown, first: SchemaError): readonly SchemaError[] {
  try {
    const { notEnforced } = compile(schema, { strict: false })
    return notEnforced.length > 0 ? notEnforced : [first]
  } catch (error) {
    if (error instanceof SchemaError) return [first]
    throw error
  }
}

function examplesOf(grammar: Grammar, { examples, seed }: CheckOptions): unknown[] {
  return Array.from({ length: examples }, (_, i) => JSON.parse(example(grammar, { seed: seed + i })))
}

function refusalOf({ path, keyword, message }: SchemaError) {
  return { path, keyword, message }
}

const placeOf = ({ path }: { readonly path: SchemaPath }) => path.join('/')
const byPlace = (a: ReturnType<typeof refusalOf>, b: ReturnType<typeof refusalOf>) => (placeOf(a) < placeOf(b) ? -1 : 1)

interface Report {
  readonly file: string
  readonly enforced: boolean
  readonly refused: readonly ReturnType<typeof refusalOf>[]
  readonly cost:
    | { compileMs: number; steps: number; states: number; shortestBytes: number; promptTokens: number }
    | undefined
  readonly examples: readonly unknown[]
}

function spelled({ file, refused, cost, examples }: Report): string {
  if (cost === undefined) {
    const lines = refused.map(({ path, message }) => `  #${path.map((step) => `/${step}`).join('')}  ${message}`)
    return `${file}: ${paint('red', 'refused')}\n${lines.join('\n')}\n`
  }
  const { compileMs, steps, states, shortestBytes, promptTokens } = cost
  const costs = [
    `compiled in ${compileMs} ms (${steps.toLocaleString('en')} of 200,000 steps)`,
    ...(examples.length > 0 ? [`${states.toLocaleString('en')} states seen in the examples`] : []),
    `the shortest document takes ${shortestBytes} bytes`,
    `about ${promptTokens} tokens in the prompt`,
  ]
  const shown = examples.map((one) => `${JSON.stringify(one)}\n`).join('')
  return `${file}: ${paint('green', 'enforced exactly')}\n${costs.map((line) => `  ${line}\n`).join('')}${shown}`
}
