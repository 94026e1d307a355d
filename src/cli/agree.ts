/** What a configuration file that nobody named may not do before somebody has agreed to it. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { Fault } from './fault.js'
import { note, paint } from './terminal.js'

export interface Setting {
  /** The long name, without dashes. */
  readonly option: string
  readonly value: unknown
}

const EFFECTS: ReadonlyMap<string, string> = new Map([
  ['webllm', 'loads code'],
  ['lib', 'loads code'],
  ['upstream', 'may send what you write to another server'],
  ['url', 'asks another server'],
])

/** What a value means that others of the same option do not. */
function effectOf(option: string, value: unknown): string | undefined {
  const addresses = [value].flat().filter((each) => /^\s*[a-z][a-z+.-]*:[/\\]/i.test(String(each)))
  if ((option === 'model' || option === 'draft') && addresses.length > 0) return 'loads from a server'
  // Its package may lie in this very folder.
  if (option === 'engine' && value === 'llama-cpp') return 'loads code'
  return EFFECTS.get(option)
}

/** Of the settings, those that load code or name a server; what a model's id means is for everybody the same place. */
function effectsOf(settings: readonly Setting[]): string[] {
  return settings.flatMap(({ option, value }) => {
    const effect = effectOf(option, value)
    return effect === undefined ? [] : [`${option} ${shown(value)} ${effect}`]
  })
}

/**
 * Says what a file found in this folder would do beyond this program, and asks once: the answer is kept for this file with
 * these contents.
 */
export async function agree(file: string, contents: Buffer, settings: readonly Setting[]): Promise<void> {
  const effects = effectsOf(settings)
  if (effects.length === 0) return
  const hash = createHash('sha256').update(contents).digest('hex')
  if (agreed()[file] === hash) return
  note(`${file} was found in this folder. It does more than change settings:`)
  for (const each of effects) note(`  ${each}`)
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new Fault(`This cannot be confirmed without a terminal. To use it, name the file: --config ${shown(file)}`)
  }
  if (!(await saysYes(paint('bold', 'Continue, now and as long as the file does not change? (y/N) ')))) {
    throw new Fault('Not confirmed. Nothing was done.')
  }
  remember(file, hash)
}

/** A value as it may be printed: control characters and whatever only looks like something else are written out. */
function shown(value: unknown): string {
  return JSON.stringify(value).replace(/[^ -~]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

async function saysYes(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl+C and Ctrl+D close it, and leave the question without an answer.
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  const answer = await Promise.race([terminal.question(question), closed])
  terminal.close()
  return /^\s*y(es)?\s*$/i.test(answer)
}

/** By file, the hash of what was agreed to. */
function agreed(): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(readFileSync(agreements(), 'utf8'))
    return typeof kept === 'object' && kept !== null ? { ...kept } : {}
  } catch {
    return {}
  }
}

function remember(file: string, hash: string): void {
  const place = agreements()
  const fresh = `${place}.${process.pid}`
  try {
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
    writeFileSync(fresh, `${JSON.stringify({ ...agreed(), [file]: hash }, null, 2)}\n`, { mode: 0o600 })
    renameSync(fresh, place)
  } catch (error) {
    note(`This will be asked again: ${(error as Error).message}`)
  }
}

function agreements(): string {
  const { XDG_CONFIG_HOME, APPDATA } = process.env
  const own = process.platform === 'darwin' ? 'Library/Application Support' : '.config'
  const folder = XDG_CONFIG_HOME || (process.platform === 'win32' && APPDATA) || join(homedir(), own)
  return join(folder, 'local-v1', 'agreed.json')
}
