import type { Page } from 'playwright-core'

interface Held extends Window {
  /** Events that may pass; more wait. */
  passing: number
  /** Answers that have begun, and how many of them may pass. */
  begun: number
  answers: number
  wake: () => void
}

/** Makes every answer of `page` wait at its reader, as on a slow line, until it is told to go on. */
export async function holdStreams(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const held = window as unknown as Held
    held.passing = Number.POSITIVE_INFINITY
    held.begun = 0
    held.answers = Number.POSITIVE_INFINITY
    held.wake = () => {}
    const woken = () =>
      new Promise<void>((resolve) => {
        const others = held.wake
        held.wake = () => {
          others()
          resolve()
        }
      })
    // What the page reads streams with.
    const Decoder = window.TextDecoderStream
    const gated = () => {
      const number = held.begun++
      // Several events may come at once: each passes by itself.
      const gate = new TransformStream<string, string>({
        async transform(text, controller) {
          for (const line of text.split(/(?<=\n\n)/)) {
            while (held.passing <= 0 || number >= held.answers) await woken()
            held.passing--
            controller.enqueue(line)
          }
        },
      })
      const { writable, readable } = new Decoder()
      return { writable, readable: readable.pipeThrough(gate) }
    }
    Object.assign(window, {
      TextDecoderStream: class {
        constructor() {
          Object.assign(this, gated())
        }
      },
    })
  })
}

/** Lets so many more events, or events of so many more answers, through; by default all that come. */
export async function letThrough(page: Page, events?: number, answers?: number): Promise<void> {
  await page.evaluate(
    ([events, answers]) => {
      const held = window as unknown as Held
      held.passing = events ?? Number.POSITIVE_INFINITY
      held.answers = held.begun + (answers ?? Number.POSITIVE_INFINITY)
      const { wake } = held
      held.wake = () => {}
      wake()
    },
    [events, answers] as const,
  )
}

/** Lets the next `answers` through, and holds back those after them. */
export const letAnswer = (page: Page, answers: number): Promise<void> => letThrough(page, undefined, answers)
