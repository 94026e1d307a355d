/**
 * The source as the documentation site offers it: whoever was sent a link to the site has all of it, whether or not the
 * repository has an address of its own.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

export const SOURCE_ARCHIVE = 'local-v1-source.tar.gz'

/** One folder, `local-v1`, as a clone has it. */
export async function writeSource(to: string): Promise<void> {
  if (existsSync(join(root, '.git'))) {
    await run('git', ['archive', '--format=tar.gz', '--prefix=local-v1/', `--output=${to}`, 'HEAD'], { cwd: root })
    return
  }
  // Unpacked from such an archive itself: what a clone ignores is what was made since.
  const [folder, name] = [dirname(root), basename(root)]
  const made = ['node_modules', 'dist', 'test-output', 'coverage', '.vitepress/cache'].map(
    (each) => `--exclude=${each}`,
  )
  await run('tar', ['czf', to, ...made, `--transform=s,^${name},local-v1,`, '-C', folder, name])
}
