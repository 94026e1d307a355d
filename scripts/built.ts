/**
 * What `dist` was built from, kept beside the installed packages: `npm test` does not build again what the installation
 * has just built. `npm run build` ends with it.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const STAMP = 'node_modules/.cache/local-v1/built'
/** All that a build reads, what is installed by its lock. */
const FOLDERS = ['src', 'adapters', 'apps', 'models']
const FILES = [
  ...['scripts/build-kernels.ts', 'scripts/declarations.ts', 'scripts/through-doors.ts'],
  ...['tsup.config.ts', 'tsconfig.json', 'package.json', 'package-lock.json'],
]

export function hashOfSources(root = ROOT): string {
  const inside = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.test(-helper)?\.ts$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      // What tests build beside the sources.
      .filter((path) => !/[\\/]dist[\\/]/.test(path.slice(root.length)))
  const paths = [...FOLDERS.flatMap(inside), ...FILES.map((file) => join(root, file))].sort()
  const hash = createHash('sha256')
  for (const path of paths)
    hash
      .update(`${path.slice(root.length)}\0`)
      .update(readFileSync(path))
      .update('\0')
  return hash.digest('hex')
}

/** Whether `dist` is what a build would make now. */
export function isBuilt(root = ROOT): boolean {
  const stamp = join(root, STAMP)
  return (
    existsSync(join(root, 'dist/playground')) &&
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === hashOfSources(root)
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(join(ROOT, STAMP, '..'), { recursive: true })
  writeFileSync(join(ROOT, STAMP), hashOfSources())
}
