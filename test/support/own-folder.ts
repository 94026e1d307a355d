import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** A new folder for the tests of the file or the `describe` that asks for it; it goes when all else of theirs is over. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'local-v1-'))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return folder
}
