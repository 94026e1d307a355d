/** Hugging Face, and the hosts that it sends downloads on to. */
export const HUGGING_FACE = 'https://huggingface.co'
const ITS_HOSTS = 'https://*.huggingface.co https://*.hf.co'

/** No `unsafe-eval`, no inline script: `wasm-unsafe-eval` is for the CPU device alone. */
export function policyFor(hub: string): string {
  const { origin } = new URL(hub)
  const from = origin === HUGGING_FACE ? `${origin} ${ITS_HOSTS}` : origin
  return [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${from}`,
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

/**
 * Workers take their policy from their own script's answer, not from the page. The other two isolate the page, which
 * lets the CPU device share memory between threads; without them it runs on one.
 */
export const headersFor = (hub: string): Readonly<Record<string, string>> => ({
  // Anybody may show it in a frame: it holds no secret, and acts for nobody.
  'content-security-policy': `${policyFor(hub)}; frame-ancestors *`,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
})
