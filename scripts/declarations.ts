import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Not below `node_modules`: what lies there is taken for another package's. */
const FOLDER = '.cache/declarations'

/**
 * The declarations of the sources, module by module, which tsup bundles: TypeScript 7 writes them in seconds, and tsup's own,
 * which is 5.9, in minutes. Types are not checked here; `npm run typecheck` does. Returns each entry's file.
 */
export function declarations(entries: Readonly<Record<string, string>>): Record<string, string> {
  const folder = join(ROOT, FOLDER)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const compilerOptions = { noEmit: false, declaration: true, emitDeclarationOnly: true, noCheck: true }
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    files: Object.values(entries).map((entry) => join(ROOT, entry)),
    include: [],
    compilerOptions: { ...compilerOptions, rootDir: ROOT, outDir: folder },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript-7/bin/tsc'), '-p', folder], { stdio: 'inherit' })
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [name, join(FOLDER, entry.replace(/\.tsx?$/, '.d.ts'))]),
  )
}
