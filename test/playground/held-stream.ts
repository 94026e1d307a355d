import type { Page } from 'playwright-core'

interface Held extends Window {
  /** Events that may pass; more wait. */
  passing: number
  wake: () => void
}

/** Makes every answer of `page` wait at its reader, as on a slow line, until it is told to go on. */
export async function holdStreams(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const held = window as unknown as Held
    held.passing = Number.POSITIVE_INFINITY
    held.wake = () => {}
    // What the page reads streams with.
    const Decoder = window.TextDecoderStream
    const gated = () => {
      // Several events may come at once: each passes by itself.
      const gate = new TransformStream<string, string>({
        async transform(text, controller) {
          for (const line of text.split(/(?<=\n\n)/)) {
            while (held.passing <= 0) {
              await new Promise<void>((resolve) => {
                held.wake = resolve
              })
            }
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

/** Lets `events` more through; by default all that come. */
export async function letThrough(page: Page, events = Number.POSITIVE_INFINITY): Promise<void> {
  await page.evaluate(
    (count) => {
      const held = window as unknown as Held
      held.passing = count ?? Number.POSITIVE_INFINITY
      held.wake()
    },
    events === Number.POSITIVE_INFINITY ? null : events,
  )
}
