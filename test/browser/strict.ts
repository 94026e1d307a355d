/** Run in a page under a strict Content-Security-Policy: services over scripts and over a model. */
import { scripted } from '../../src/engines/scripted.js'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1, textOf } from '../../src/index.js'

export interface StrictPage {
  /** Whether code could be made of text when the page was loaded. */
  readonly evals: boolean
  /** What the policy forbade, in the order of the attempts; the first is the page's own. */
  readonly violations: string[]
  /** Asks the service that has the model, and reads the answer to its end. */
  chat(body: { model: string }): Promise<{ status: number; text: string }>
}

const violations: string[] = []
document.addEventListener('securitypolicyviolation', (event) => {
  violations.push(`${event.effectiveDirective} ${event.blockedURI}`)
})

const echo = scripted({ models: { 'test/echo': ({ messages }) => textOf(messages.at(-1)!.content) } })
const tiny = webgpu({
  models: [{ id: 'test/tiny', from: `${location.origin}/tiny/` }],
  device: 'cpu',
  cache: false,
  log: () => {},
})
const services = {
  'test/echo': createV1({ engine: echo, keys: 'none' }),
  'test/tiny': createV1({ engine: tiny, keys: 'none' }),
}

const strict: StrictPage = {
  evals: evals(),
  violations,
  async chat(body) {
    // The debugger that calls this may do what the page may not: what follows runs as a task of the page.
    await new Promise((resolve) => setTimeout(resolve))
    const v1 = services[body.model as keyof typeof services]
    const response = await v1.fetch(
      new Request(`${location.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
    return { status: response.status, text: await response.text() }
  },
}

function evals(): boolean {
  try {
    new Function('')
    return true
  } catch {
    return false
  }
}

Object.assign(window, { strict })
