import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** All files of a folder, by their paths in it, as `serveFiles` takes them. */
export async function filesIn(folder: string): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    files[`/${relative(folder, path)}`] = await readFile(path)
  }
  return files
}
