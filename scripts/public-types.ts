/** The types of the built package, entry by entry, in the least text that says them: what a user's code depends on. */
import ts from 'typescript'

const printer = ts.createPrinter({ removeComments: true })

/**
 * Of each entry (its name and its `.d.ts`) all that it exports, and what these types are made of, sorted, without
 * comments. What an entry before it has told is only named, with that entry.
 */
export function publicTypes(entries: readonly (readonly [name: string, path: string])[]): Map<string, string> {
  const program = ts.createProgram({
    rootNames: entries.map(([, path]) => path),
    options: {
      target: ts.ScriptTarget.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      noLib: true,
      types: [],
    },
  })
  const checker = program.getTypeChecker()
  const own = (declaration: ts.Declaration) => /\/dist\/[^/]+\.d\.ts$/.test(declaration.getSourceFile().fileName)
  const listed = new Map<ts.Symbol, string>()
  const resolved = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

  const texts = new Map<string, string>()
  for (const [name, path] of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path)!)!
    const exported = checker.getExportsOfModule(module).map((symbol) => [resolved(symbol), symbol.name] as const)
    const again = exported
      .filter(([symbol]) => listed.has(symbol))
      .map(([symbol, as]) => `export ${as} // ${listed.get(symbol)}`)
    const fresh = exported.filter(([symbol]) => !listed.has(symbol))
    const lines = [...again]
    const todo: (readonly [ts.Symbol, prefix: string])[] = fresh.map(([symbol]) => [symbol, 'export '] as const)
    for (const [symbol] of fresh) listed.set(symbol, name)
    for (let next = todo.pop(); next; next = todo.pop()) {
      const [symbol, prefix] = next
      for (const declaration of (symbol.declarations ?? []).filter(own)) {
        // A class that is not exported is one of ours that shows through: nobody makes one or extends it.
        if (prefix === '' && ts.isClassDeclaration(declaration)) {
          lines.push(`class ${symbol.name}`)
          continue
        }
        const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
        const text = printer.printNode(ts.EmitHint.Unspecified, statement, declaration.getSourceFile())
        lines.push(prefix + text.replace(/^(export |declare )*/, ''))
        const visit = (node: ts.Node): void => {
          const used = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined
          const part = used && resolved(used)
          if (part && isTopLevel(part) && !listed.has(part)) {
            listed.set(part, name)
            todo.push([part, ''])
          }
          ts.forEachChild(node, visit)
        }
        visit(statement)
      }
    }
    texts.set(name, `${lines.sort(byText).join('\n')}\n`)
  }
  return texts

  function isTopLevel(symbol: ts.Symbol): boolean {
    return (symbol.declarations ?? []).some(
      (declaration) =>
        own(declaration) &&
        (ts.isSourceFile(declaration.parent) ||
          (ts.isVariableDeclaration(declaration) && ts.isSourceFile(declaration.parent.parent.parent))),
    )
  }
}

const byText = (a: string, b: string) => (a < b ? -1 : 1)
