/** To wrap a line takes Chromium the square of its length, 12 s for a megabyte: a line of so many characters is not wrapped. */
const LONG = /[^\n]{50000}/

/** Puts the text into the field. */
export function setText(field: HTMLTextAreaElement, text: string): void {
  wrapFor(field, text)
  field.value = text
}

/** The same for what people write and paste, before it is laid out. */
export function connectLongLines(): void {
  addEventListener('beforeinput', ({ target, data }) => {
    if (target instanceof HTMLTextAreaElement && data !== null && LONG.test(data)) wrapFor(target, data)
  })
  addEventListener('input', ({ target }) => {
    if (target instanceof HTMLTextAreaElement) wrapFor(target, target.value)
  })
}

function wrapFor(field: HTMLTextAreaElement, text: string): void {
  const wrap = LONG.test(text) ? 'off' : 'soft'
  if (field.wrap !== wrap) field.wrap = wrap
}
