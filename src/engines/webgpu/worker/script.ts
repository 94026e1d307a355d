/** Finds the script of the worker, whatever became of this package's files. */
import { builtin } from '../../../platform/index.js'
import type { WorkerThread } from '../../remote/index.js'

interface NodeWorkers {
  Worker: new (
    script: URL,
    options: { execArgv: string[]; name: string; resourceLimits: { maxYoungGenerationSizeMb: number } },
  ) => WorkerThread
}
type Files = { existsSync(path: URL): boolean; readFileSync(path: string, encoding: 'utf8'): string }
type Modules = { createRequire(from: string): { resolve(name: string): string } }
type Urls = { pathToFileURL(path: string): URL }

/** Set by the build. */
declare const __VERSION__: string | undefined

const SCRIPT = 'webgpu-worker.js'

/**
 * Megabytes for what was made a moment ago: half of what Node has by default, which it keeps once a crowd has filled it,
 * and as fast.
 */
const YOUNG = 24

/** A worker that nobody has asked for yet. */
let ahead: WorkerThread | undefined

/**
 * Starts the worker for the engine that will be made next. It reads its script, which takes as long as all else that comes
 * before an answer, while this thread still reads what asks for it. Without such an engine the process ends as if there
 * were none.
 */
export function startWorkerAhead(): void {
  const start = findScript()
  if (typeof start !== 'function') return
  try {
    ahead = start()
  } catch {
    // Who needs one tries again, and is told.
    return
  }
  ahead.unref?.()
  ahead.once?.('error', () => {
    ahead = undefined
  })
}

function takeAhead(): WorkerThread | undefined {
  const taken = ahead
  ahead = undefined
  return taken
}

/** Starts the worker; undefined where there are no workers of this kind; or why none can be started. */
export function findScript(): (() => WorkerThread) | { readonly refused: string } | undefined {
  const workers = builtin<NodeWorkers>('node:worker_threads')
  if (!workers) return undefined
  const script = besides() ?? installed()
  if (!script) return { refused: "the worker's file is neither next to this program nor where local-v1 is installed" }
  // Not the application's own arguments: loaders and the like are none of its business.
  return () =>
    takeAhead() ??
    new workers.Worker(script, { execArgv: [], name: 'local-v1', resourceLimits: { maxYoungGenerationSizeMb: YOUNG } })
}

/**
 * Without the two arguments of `new URL` that bundlers look for: they would copy the file without what it imports, which
 * then is no worker (Turbopack, also where the name is in a constant).
 */
function besides(): URL | undefined {
  try {
    const script = new URL(import.meta.url)
    script.pathname = script.pathname.replace(/[^/]*$/, SCRIPT)
    return script.protocol === 'file:' && exists(script) ? script : undefined
  } catch {
    return undefined
  }
}

/** A bundler has put this code into a file of the application's. */
function installed(): URL | undefined {
  if (typeof __VERSION__ === 'undefined') return undefined
  try {
    const { createRequire } = builtin<Modules>('node:module')!
    const found = createRequire(`${process.cwd()}/`).resolve('local-v1/package.json')
    const { version } = JSON.parse(builtin<Files>('node:fs')!.readFileSync(found, 'utf8')) as { version: string }
    const script = new URL(`dist/${SCRIPT}`, builtin<Urls>('node:url')!.pathToFileURL(found))
    return version === __VERSION__ && exists(script) ? script : undefined
  } catch {
    return undefined
  }
}

function exists(script: URL): boolean {
  return builtin<Files>('node:fs')!.existsSync(script)
}
