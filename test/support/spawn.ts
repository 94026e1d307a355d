import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface Running {
  readonly pid: number
  /** Everything printed so far, both streams together. */
  readonly output: () => string
  /** The first line of stdout that matches, also one that was printed before; rejects when the process ends first. */
  line(pattern: RegExp): Promise<RegExpMatchArray>
  /** Writes a line to its stdin. */
  write(line: string): void
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Kills it and waits until it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

/**
 * Starts a program as a child of this test. Stop it in `afterAll`; it is killed at the latest when this process ends. As a
 * `group`, whatever it starts gets its signals too, as from a terminal.
 */
export function start(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
  { group = false, cwd }: { readonly group?: boolean; readonly cwd?: string } = {},
): Running {
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: 'pipe',
    detached: group,
    ...(cwd !== undefined && { cwd }),
  })
  const kill = (signal: NodeJS.Signals) => (group ? process.kill(-child.pid!, signal) : child.kill(signal))
  const killWithUs = () => kill('SIGKILL')
  process.once('exit', killWithUs)

  let output = ''
  const lines: string[] = []
  const waiting = new Set<() => void>()
  child.stderr.on('data', (data) => {
    output += data
  })
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => {
    output += `${line}\n`
    lines.push(line)
    for (const check of waiting) check()
  })
  // Its end shows in `exit`; a write after it is not an error of its own.
  child.stdin.on('error', () => {})

  let ended = false
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      ended = true
      process.off('exit', killWithUs)
      for (const check of waiting) check()
      resolve({ code, signal })
    })
  })

  return {
    pid: child.pid!,
    output: () => output,
    exit,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const match = lines.map((line) => line.match(pattern)).find((found) => found !== null)
          if (match) resolve(match)
          else if (ended) reject(new Error(`${program} ended before it printed ${pattern}:\n${output}`))
          else return
          waiting.delete(check)
        }
        waiting.add(check)
        check()
      }),
    write: (line) => void child.stdin.write(`${line}\n`),
    stop: async (signal = 'SIGKILL') => {
      if (!ended) kill(signal)
      await exit
    },
  }
}

/** What the pattern's first group matches in what it prints, on either stream; fails when it ends before that. */
export async function printed(running: Running, pattern: RegExp): Promise<string> {
  for (let over = false; ; ) {
    const match = running.output().match(pattern)
    if (match) return match[1]!
    if (over) throw new Error(`It ended before it printed ${pattern}:\n${running.output()}`)
    over = await Promise.race([running.exit.then(() => true), new Promise<false>((on) => setTimeout(on, 50, false))])
  }
}
