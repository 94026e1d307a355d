import { readFileSync, statSync } from 'node:fs'
import process from 'node:process'
import { isKey } from '../service/index.js'
import { Fault } from './fault.js'
import { note } from './terminal.js'

export interface KeyOptions {
  readonly key?: readonly string[]
  readonly keyFile?: string
}

/**
 * The keys that clients must send: from the command line, which other users of the machine can read, from a file, and
 * from the environment. One that no client could send would let nobody in, and nobody would know why.
 */
export function serveKeys({ key = [], keyFile }: KeyOptions, env = process.env): string[] {
  const { LOCAL_V1_KEY: one, LOCAL_V1_KEYS: several } = env
  return [
    ...key.map((each) => checked(each, '--key')),
    ...(keyFile === undefined ? [] : some(linesOf(keyFile), `--key-file ${keyFile}`)),
    ...(one === undefined ? [] : [checked(one, 'LOCAL_V1_KEY')]),
    ...(several === undefined ? [] : some(several.split(/[\s,]+/), 'LOCAL_V1_KEYS')),
  ]
}

/** One key a line; empty lines and those that begin with `#` are none. */
function linesOf(file: string): string[] {
  let text: string
  try {
    // Without the byte order mark that editors on Windows put before a text.
    text = new TextDecoder().decode(readFileSync(file))
    // Windows has no such bits.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      note(`--key-file ${file} can be read by other users of this machine: chmod 600 it.`)
  } catch (error) {
    throw new Fault(`--key-file ${file} cannot be read: ${(error as Error).message}`)
  }
  return text.split(/\r?\n/).filter((line) => !line.startsWith('#'))
}

function some(keys: readonly string[], from: string): string[] {
  const found = keys.filter((key) => key.trim() !== '')
  if (found.length === 0) throw new Fault(`${from} has no key.`)
  return found.map((key) => checked(key, from))
}

function checked(key: string, from: string): string {
  if (key === '') throw new Fault(`${from} is empty: is the variable set?`)
  // Without the key: terminals are watched, and their output kept.
  if (!isKey(key))
    throw new Fault(`${from} has a key that no header can carry: use visible ASCII only, without spaces.`)
  return key
}
