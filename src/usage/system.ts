import { hasEnded, processHost } from '../platform/index.js'

/** The few functions of `node:fs` used here; Deno has them too. */
export interface FileSystem {
  openSync(path: string, flags: string): number
  readSync(file: number, into: Uint8Array, offset: number, length: number, position: number): number
  writeSync(file: number, bytes: Uint8Array): number
  fstatSync(file: number): FileFacts
  statSync(path: string, options: { throwIfNoEntry: false }): FileFacts | undefined
  fsyncSync(file: number): void
  renameSync(from: string, to: string): void
  closeSync(file: number): void
  readdirSync(folder: string): string[]
  readlinkSync(path: string): string
  realpathSync(path: string): string
  rmSync(path: string, options: { force: true }): void
}

interface FileFacts {
  readonly ino: number
  readonly size: number
  readonly mtimeMs: number
}

/** What a ledger in a file needs of the system. */
export interface System {
  readonly fs: FileSystem
  readonly pid: number
  /** When this process began, in milliseconds. */
  readonly began: number
  /** What its process ids belong to, a machine since it was started or a container on it: eight letters and digits. */
  readonly host: string
  /** Whether a process of this host has ended for certain. */
  ended(pid: number): boolean
}

export async function nodeSystem(): Promise<System> {
  const fs = await load<typeof import('node:fs')>('node:fs')
  const os = await load<typeof import('node:os')>('node:os')
  const crypto = await load<typeof import('node:crypto')>('node:crypto')
  const process = await load<typeof import('node:process')>('node:process')
  return {
    fs,
    pid: process.pid,
    began: Date.now() - process.uptime() * 1000,
    host: processHost({ os, fs, crypto }),
    ended: (pid) => hasEnded(process, pid),
  }
}

/** The name is in a variable, so that bundlers for browsers do not look for the module. */
async function load<T>(name: string): Promise<T> {
  const module = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as T & { default?: T }
  return module.default ?? module
}
