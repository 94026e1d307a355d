/** To wrap a line takes Chromium the square of its length, a second for 20,000 characters: a line of half as many is not wrapped. */
const LONG = /[^\n]{10000}/

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
