/** The tests that docs/interface.md names, looked up among those that a run has seen. */

/** A file, and the titles of its tests with those of what they stand in: all that could be named. */
export type Seen = ReadonlyMap<string, readonly string[]>

/** The parts of the contract suite run in every runtime's test file; this one has them all. */
const CONTRACT = { folder: 'test/contract/', file: 'test/contract/fetch.test.ts' }

export function references(document: string): { readonly file: string; readonly title: string }[] {
  return [...document.matchAll(/`([\w./-]+\.ts) > ([^`]+)`/g)].map(([, file, title]) => ({
    file: file!,
    title: title!,
  }))
}

/** A sentence for each test that is named and was not there, of the files that were run. */
export function unheld(document: string, seen: Seen): string[] {
  return references(document).flatMap(({ file, title }) => {
    const ran = file.startsWith(CONTRACT.folder) && !file.endsWith('.test.ts') ? CONTRACT.file : file
    const titles = seen.get(ran)
    if (!titles || titles.some((one) => formOf(title).test(one))) return []
    return [`docs/interface.md names a test that ${ran} does not have: ${title}`]
  })
}

/** `%s` and its like, and `$name`, stand for what a table of cases puts there. */
function formOf(title: string): RegExp {
  const literal = title.replace(/[.*+?^{}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${literal.replace(/%[a-z]|\$\w+(\\\.\w+)*/g, '.*')}$`, 's')
}
