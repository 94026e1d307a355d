/** Drives another engine in a process of its own: one schema at a time, with a limit, and a new process after an abort or a hang. */

import { type ChildProcess, fork } from 'node:child_process'
import type { Entry } from './corpus.js'
import { failed, type Measured } from './measure.js'

const LIMIT_MS = 10_000

interface Ready {
  readonly ready: number
}

/** `file` is that of the child. */
export async function measurePeer(
  file: string,
  entries: readonly Entry[],
): Promise<{ readyUs: number; results: Measured[] }> {
  const results: Measured[] = []
  let readyUs = 0
  let child: ChildProcess | undefined
  for (const entry of entries) {
    if (child === undefined) {
      child = fork(new URL(file, import.meta.url), { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
      const answer = await next<Ready>(child, 60_000)
      if (typeof answer === 'string') throw new Error(`${file} does not start`)
      readyUs = answer.ready
    }
    child.send(entry)
    const answer = await next<Measured>(child, LIMIT_MS)
    if (typeof answer !== 'string') {
      results.push(answer)
      continue
    }
    results.push(failed(entry.id, answer, LIMIT_MS * 1000))
    child.kill('SIGKILL')
    child = undefined
  }
  child?.kill()
  return { readyUs, results }
}

function next<T>(child: ChildProcess, limit: number): Promise<T | 'timeout' | 'aborted'> {
  return new Promise((resolve) => {
    const settle = (answer: T | 'timeout' | 'aborted') => {
      clearTimeout(timer)
      child.off('message', onMessage)
      child.off('exit', onExit)
      resolve(answer)
    }
    const onMessage = (message: unknown) => settle(message as T)
    const onExit = () => settle('aborted')
    const timer = setTimeout(() => settle('timeout'), limit)
    child.once('message', onMessage)
    child.once('exit', onExit)
  })
}
