import { fileURLToPath } from 'node:url'
import { type Running, start } from './spawn.js'

export interface NodeOptions {
  args?: readonly string[]
  env?: Record<string, string>
}

/** Runs a TypeScript file (a path from the repository's root) in a Node process of its own. */
export function startNode(entry: string, options: NodeOptions = {}): Running {
  const file = fileURLToPath(new URL(`../../${entry}`, import.meta.url))
  return start(process.execPath, ['--import', import.meta.resolve('tsx'), file, ...(options.args ?? [])], options.env)
}
