import { readFileSync } from 'node:fs'
import process from 'node:process'

const LOOK_MS = 500

/**
 * Calls `gone` once the `npm start` (or npx, pnpm, yarn) that began this process has ended. They pass a signal on to the
 * shell between them and us; a shell such as dash ends by it and tells nobody, and we would be left behind.
 */
export function watchLauncher(gone: () => void): void {
  // Whoever puts a server into the background of a shell means it to stay when the shell goes.
  if (process.env.npm_lifecycle_event === undefined) return
  const before = ancestors()
  const timer = setInterval(() => {
    if (ancestors() === before) return
    clearInterval(timer)
    gone()
  }, LOOK_MS)
  timer.unref()
}

/** The shell, and what began the shell: killed without a word, npm leaves both of us. */
function ancestors(): string {
  const shell = process.ppid
  return `${shell} ${process.platform === 'linux' ? parentOf(shell) : ''}`
}

function parentOf(pid: number): string {
  try {
    // The name before it may hold anything, also brackets.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1]!
  } catch {
    return ''
  }
}
