/** Texts up to this are looked for by the engine's own search, which may compare all of one at each place of the other. */
const SHORT = 64

/** `text.indexOf(wanted, from)` in a time that goes with both lengths, whatever they hold. */
export function placeOf(text: string, wanted: string, from = 0): number {
  if (wanted.length <= SHORT) return text.indexOf(wanted, from)
  const at = text.indexOf(wanted.slice(0, SHORT), from)
  return at < 0 || text.startsWith(wanted, at) ? at : further(text, wanted, at)
}

/** Knuth, Morris and Pratt: what was equal up to here is not looked at again. */
function further(text: string, wanted: string, from: number): number {
  const { length } = wanted
  /** Behind so many equal characters: how many of them are equal again, one place or more further on. */
  const again = new Int32Array(length + 1)
  again[0] = -1
  for (let i = 0, equal = -1; i < length; again[++i] = ++equal) {
    while (equal >= 0 && wanted.charCodeAt(i) !== wanted.charCodeAt(equal)) equal = again[equal]!
  }
  for (let at = from, equal = 0; at < text.length; at++) {
    while (equal >= 0 && text.charCodeAt(at) !== wanted.charCodeAt(equal)) equal = again[equal]!
    if (++equal === length) return at + 1 - length
  }
  return -1
}
