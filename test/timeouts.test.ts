import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import config from '../vitest.config.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** What every test has without asking for it: some projects give more. */
const { testTimeout, hookTimeout, expect: asserts } = config.test!
const GIVEN: readonly (readonly [RegExp, number])[] = [
  [/^(describe|test|it)\b/, testTimeout!],
  [/^(before|after)(All|Each)$/, hookTimeout!],
  [/^expect\s*\.poll$/, (asserts!.poll as { timeout: number }).timeout],
]

/** Timeouts that a source asks for and that are no longer than those which it would have had. */
function idle(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const constants = new Map<string, ts.Expression>()
  const found: string[] = []
  const timeoutOf = (node: ts.Node | undefined): number | undefined => {
    if (!node) return undefined
    if (ts.isNumericLiteral(node)) return Number(node.text)
    if (ts.isIdentifier(node)) return timeoutOf(constants.get(node.text))
    if (ts.isPropertyAssignment(node)) return timeoutOf(node.initializer)
    if (!ts.isObjectLiteralExpression(node)) return undefined
    return timeoutOf(node.properties.find((property) => property.name?.getText() === 'timeout'))
  }
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      constants.set(node.name.text, node.initializer)
    }
    if (ts.isCallExpression(node)) {
      const given = GIVEN.find(([name]) => name.test(node.expression.getText()))?.[1] ?? Number.NEGATIVE_INFINITY
      // The first says what it is, or what it does.
      for (const argument of node.arguments.slice(1)) {
        const milliseconds = timeoutOf(argument)
        if (milliseconds === undefined || milliseconds > given) continue
        const { line } = source.getLineAndCharacterOfPosition(argument.getStart())
        found.push(`${path}:${line + 1} asks for ${milliseconds} ms and would have ${given}.`)
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

describe('a timeout', () => {
  it('is written by hand only where what vitest.config.ts gives is too little', () => {
    const paths = ['adapters', 'apps', 'bench', 'examples', 'models', 'scripts', 'src', 'test'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
        .filter((path) => /\.ts$/.test(path) && !path.includes('/node_modules/')),
    )
    const texts = paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')] as const)
    const tests = texts.filter(([, text]) => text.includes(`from 'vitest'`))
    expect(tests.length).toBeGreaterThan(100)
    expect(tests.flatMap(([path, text]) => idle(path, text))).toEqual([])
  })

  it('that is as short is found out, in whatever form', () => {
    const short = [
      `it('x', { timeout: ${testTimeout} }, () => {})`,
      `it.each([1])('x', () => {}, 10_000)`,
      `describe.skipIf(a)('x', { timeout: 20_000 }, () => {})`,
      'beforeAll(() => {}, 60_000)',
      'expect.poll(() => x, { message: `a`, timeout: 10_000 }).toBe(1)',
      'const SOON = { timeout: 5 }\nexpect.poll(() => x, SOON).toBe(1)',
    ]
    expect(short.map((text) => idle('a.test.ts', text).length)).toEqual(short.map(() => 1))
    const long = `it('x', { timeout: ${testTimeout! + 1} }, () => { wait(5, 5) })\nexpect.poll(x, { timeout: 90_000 })\nexpect(x, 1).toBe(2)`
    expect(idle('a.test.ts', long)).toEqual([])
  })
})
