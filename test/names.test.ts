import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Names that two entries of the package give to their users, each for its own kind of application. */
const PUBLIC = [
  // A message as engines are given it, and as the chat of a page keeps it.
  'ChatMessage',
  // The provider for the AI SDK, and the plugin for Vite.
  'localV1',
  // The same engine in the thread of the caller, and in a worker.
  'webllm',
]

/** What a source exports and declares itself: interfaces, type aliases, classes, functions and constants. */
function declaredIn(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  return source.statements.flatMap((node) => {
    if (!ts.canHaveModifiers(node)) return []
    if (!ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (ts.isVariableStatement(node)) {
      return node.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []))
    }
    const named = [
      ts.isInterfaceDeclaration,
      ts.isTypeAliasDeclaration,
      ts.isClassDeclaration,
      ts.isFunctionDeclaration,
    ]
    return named.flatMap((is) => (is(node) && node.name ? [node.name.text] : []))
  })
}

/** The names that more than one file declares, and where. */
function doubles(files: ReadonlyMap<string, string>): Record<string, string[]> {
  const places = new Map<string, string[]>()
  for (const [path, text] of files) {
    for (const name of new Set(declaredIn(path, text))) places.set(name, [...(places.get(name) ?? []), path])
  }
  return Object.fromEntries([...places].filter(([, paths]) => paths.length > 1))
}

function sources(): Map<string, string> {
  const paths = ['src', 'adapters'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => /\.tsx?$/.test(path) && !/\.test(-helper)?\.tsx?$|\/assembly(\/|\.ts$)/.test(path)),
  )
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
}

describe('a noun means one thing', () => {
  it('in all of src and adapters, but for what entries have in common', () => {
    const found = doubles(sources())
    expect(Object.entries(found).filter(([name]) => !PUBLIC.includes(name))).toEqual([])
    expect(PUBLIC.filter((name) => !Object.hasOwn(found, name))).toEqual([])
  })

  it('and a second meaning is seen, in whatever form', () => {
    const first = ['a.ts', 'export interface Place {}'] as const
    const forms = [
      'interface Place {}',
      'type Place = string',
      'class Place {}',
      'function Place() {}',
      'const Place = 1',
    ]
    for (const second of forms.map((form) => `export ${form}`)) {
      expect(doubles(new Map([first, ['b.ts', second]]))).toEqual({ Place: ['a.ts', 'b.ts'] })
    }
    expect(doubles(new Map([first, ['b.ts', "export type { Place } from './a.js'\ninterface Place {}"]]))).toEqual({})
  })
})
