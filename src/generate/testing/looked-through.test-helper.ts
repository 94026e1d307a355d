import { vi } from 'vitest'

/** Characters that texts were looked through for, or compared with, while it ran: a text that is looked through anew counts again. */
export function lookedThrough(run: () => void): number {
  const whole = (['endsWith', 'trimStart', 'trimEnd', 'replace'] as const).map((name) =>
    vi.spyOn(String.prototype, name),
  )
  const given = [vi.spyOn(String.prototype, 'startsWith'), vi.spyOn(RegExp.prototype, 'exec')]
  try {
    run()
    const texts = [
      ...whole.flatMap(({ mock }) => mock.contexts.map(String)),
      ...given.flatMap(({ mock }) => mock.calls.map(([text]) => text)),
    ]
    return texts.reduce((sum, { length }) => sum + length, 0)
  } finally {
    for (const spy of [...whole, ...given]) spy.mockRestore()
  }
}
