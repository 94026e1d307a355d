/** Models that other programs keep on this disk: read where they lie, never copied, written or deleted. */
import { builtin } from '../../../../platform/index.js'
import type { KnownOfFile } from '../../files.js'

export interface ForeignModel {
  /** As a user names it: `ollama:qwen3:0.6b`. */
  readonly name: string
  /** Where it lies. Throws at what can never be read. */
  locate(): Promise<ForeignPlace>
}

export interface ForeignPlace {
  readonly folder: string
  /** The one file that it is in, where it is in one. */
  readonly file?: string
  known?(file: string): Promise<KnownOfFile | undefined>
}

export interface ForeignStore {
  readonly title: string
  /** Everything in it that may be a model for us. */
  list(disk: Disk): Promise<ForeignModel[]>
}

type Fs = typeof import('node:fs/promises')
type Entry = import('node:fs').Dirent

/** The disk, and what the environment says of it. */
export interface Disk {
  readonly fs: Fs
  readonly home: string
  readonly platform: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Undefined in a browser. */
export function thisDisk(): Disk | undefined {
  const fs = builtin<Fs>('node:fs/promises')
  const os = builtin<typeof import('node:os')>('node:os')
  const process = builtin<typeof import('node:process')>('node:process')
  if (!fs || !os || !process) return undefined
  return { fs, home: os.homedir(), platform: process.platform, environment: process.env }
}

/** A folder that is not there or may not be read has nothing for us. */
export async function entriesOf({ fs }: Disk, folder: string): Promise<Entry[]> {
  const entries: Entry[] = await fs.readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Names below a folder with slashes between them, to a depth; those of links too. */
export async function filesBelow(disk: Disk, folder: string, depth: number, before = ''): Promise<string[]> {
  const names: string[] = []
  for (const entry of await entriesOf(disk, folder)) {
    const name = before + entry.name
    if (!entry.isDirectory()) names.push(name)
    else if (depth > 0) names.push(...(await filesBelow(disk, `${folder}/${entry.name}`, depth - 1, `${name}/`)))
  }
  return names
}

/** What a folder of files offers: its GGUF files (of one in parts the first, of vision encoders none), or the whole. */
export function modelsAmong(names: readonly string[]): (string | undefined)[] {
  const files = names.filter(
    (name) => /\.gguf$/i.test(name) && !/mmproj/i.test(name) && !/-(?!00001)\d{5}-of-\d{5}\.gguf$/i.test(name),
  )
  if (files.length > 0) return files
  return names.includes('mlc-chat-config.json') || names.includes('config.json') ? [undefined] : []
}
