/**
 * All of a browser at a share of this processor's speed. Chromium's own throttle holds a page's main thread alone; what
 * answers here are workers and the browser's other processes. So each of its processes is stopped for most of every few
 * milliseconds, by a program of its own that goes before everything else where it may.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'

const SLICE_MS = 8

const PROGRAM = `
const [group, run, rest] = process.argv.slice(1).map(Number)
const cell = new Int32Array(new SharedArrayBuffer(4))
const wait = (end) => { for (let left; (left = end - performance.now()) > 0;) Atomics.wait(cell, 0, 0, left) }
for (let at = performance.now(); ; at += run + rest) {
  at = Math.max(at, performance.now() - run)
  process.kill(-group, 'SIGCONT')
  wait(at + run)
  process.kill(-group, 'SIGSTOP')
  wait(at + run + rest)
}`

/** Begins it; what is given back ends it. */
export async function throttle(browser: Browser, rate: number): Promise<() => Promise<void>> {
  const group = await groupOf(browser)
  const run = SLICE_MS / rate
  const node = [process.execPath, '-e', PROGRAM, String(group), String(run), String(SLICE_MS - run)]
  // Behind a browser that was given real time it would never come.
  const program = spawn('chrt', ['-f', '2', ...node], { stdio: 'inherit' })
  const ended = new Promise((resolve) => program.once('close', resolve))
  return async () => {
    program.kill('SIGKILL')
    await ended
    process.kill(-group, 'SIGCONT')
  }
}

/** The browser leads the group of all of its processes. */
async function groupOf(browser: Browser): Promise<number> {
  const devtools = await browser.newBrowserCDPSession()
  const { processInfo } = await devtools.send('SystemInfo.getProcessInfo')
  const { id } = processInfo.find(({ type }) => type === 'browser')!
  const group = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')[1]!.split(' ')[2]
  return Number(group)
}
