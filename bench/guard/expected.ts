import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Counts } from './compare.js'

export const EXPECTED = fileURLToPath(new URL('expected.json', import.meta.url))

export async function expected(): Promise<Counts> {
  return JSON.parse(await readFile(EXPECTED, 'utf8').catch(() => '{}'))
}
