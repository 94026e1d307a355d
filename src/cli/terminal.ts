import process from 'node:process'
import { styleText } from 'node:util'
import { type Options, SingleBar } from 'cli-progress'
import { doneOf, type LoadProgress } from '../contract/index.js'

type Style = Parameters<typeof styleText>[0]

/** NO_COLOR (https://no-color.org), a pipe and a dumb terminal all mean plain text. */
export function colours(stream: NodeJS.WriteStream): boolean {
  if (process.env.NO_COLOR) return false
  if (process.env.FORCE_COLOR) return true
  return stream.isTTY === true && process.env.TERM !== 'dumb'
}

/** Paints for stderr, where everything but the answer goes. */
export function paint(style: Style, text: string): string {
  return colours(process.stderr) ? styleText(style, text) : text
}

export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

const BAR: Options = {
  format: '{model} {phase} [{bar}] {percentage}% {megabytes} MB, {left}',
  hideCursor: true,
  clearOnComplete: true,
  stream: process.stderr,
}

/** Shows loading: a bar on a terminal, one line per phase elsewhere. */
export function progressReporter(): { report: (progress: LoadProgress) => void; stop: () => void } {
  if (!process.stderr.isTTY) return phaseLines()
  let bar: SingleBar | undefined
  return {
    report(progress) {
      const { retry } = progress
      // Of nothing there is no bar yet: its first files say how much there is.
      if (progress.bytesTotal === 0 && retry !== undefined) {
        note(paint('dim', retry))
        return
      }
      bar ??= new SingleBar(BAR)
      const payload = {
        model: progress.model,
        phase: progress.phase,
        megabytes: (progress.bytesTotal / 1e6).toFixed(1),
        left: retry ?? (progress.secondsLeft === undefined ? '' : `${Math.ceil(progress.secondsLeft)} s left`),
      }
      const [done, of] = doneOf(progress)
      if (!bar.isActive) bar.start(of, done, payload)
      bar.setTotal(of)
      bar.update(done, payload)
    },
    stop: () => bar?.stop(),
  }
}

function phaseLines(): ReturnType<typeof progressReporter> {
  let last = ''
  return {
    report({ model, phase, bytesTotal, retry }) {
      if (retry !== undefined) note(retry)
      else if (phase !== last) {
        last = phase
        note(`${model}: ${phase}${bytesTotal > 0 ? ` (${(bytesTotal / 1e6).toFixed(1)} MB)` : ''}`)
      }
    },
    stop() {},
  }
}
