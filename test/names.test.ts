import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('../src', import.meta.url))

/** The types that a source exports and declares itself: interfaces, type aliases and classes. */
function declaredIn(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  return source.statements.flatMap((node) => {
    if (!ts.isInterfaceDeclaration(node) && !ts.isTypeAliasDeclaration(node) && !ts.isClassDeclaration(node)) return []
    const exported = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    return exported && node.name ? [node.name.text] : []
  })
}

/** The names that more than one file declares, and where. */
function doubles(files: ReadonlyMap<string, string>): Record<string, string[]> {
  const places = new Map<string, string[]>()
  for (const [path, text] of files) {
    for (const name of declaredIn(path, text)) places.set(name, [...(places.get(name) ?? []), path])
  }
  return Object.fromEntries([...places].filter(([, paths]) => paths.length > 1))
}

function sources(): Map<string, string> {
  const paths = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/'))
  const ours = paths.filter((path) => /\.ts$/.test(path) && !/\.test(-helper)?\.ts$|\/assembly(\/|\.ts$)/.test(path))
  return new Map(ours.map((path) => [path, readFileSync(join(SRC, path), 'utf8')]))
}

describe('a noun means one thing', () => {
  it('in all of src', () => {
    expect(doubles(sources())).toEqual({})
  })

  it('and a second meaning is seen, in whatever form', () => {
    const first = ['a.ts', 'export interface Place {}'] as const
    for (const second of ['export interface Place {}', 'export type Place = string', 'export class Place {}']) {
      expect(doubles(new Map([first, ['b.ts', second]]))).toEqual({ Place: ['a.ts', 'b.ts'] })
    }
    expect(doubles(new Map([first, ['b.ts', "export type { Place } from './a.js'\ninterface Place {}"]]))).toEqual({})
  })
})
