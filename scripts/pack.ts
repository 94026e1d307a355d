/** `npm run pack`: the packages as they would be published, under names that stay, for `npm install` in other folders. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Packs into a folder; gives back the files by the names of their packages. */
export function packInto(folder: string): Record<string, string> {
  mkdirSync(folder, { recursive: true })
  const packed: Record<string, string> = {}
  for (const [name, from] of [
    ['local-v1', root],
    ['local-v1-nano', join(root, 'models/nano')],
  ] as const) {
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
    const [{ filename }] = JSON.parse(execFileSync('npm', args, { cwd: from, encoding: 'utf8' })) as [
      { filename: string },
    ]
    packed[name] = join(folder, `${name}.tgz`)
    renameSync(join(folder, filename), packed[name])
  }
  return packed
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const file of Object.values(packInto(join(root, 'packed')))) console.log(file)
}
