/** Methods of texts as Python has them, where the library has none or another one. */
import { functionOf, isAbsent, isNone, itemsOf, type TemplateValue, templateList, templateValue } from './values.js'

/** What Python takes to be blank. */
const BLANKS =
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'

export function stripped(text: string, ends: 'both' | 'left' | 'right' = 'both', chars = BLANKS): string {
  const signs = new Set(chars)
  const all = Array.from(text)
  let [from, to] = [0, all.length]
  if (ends !== 'right') while (from < to && signs.has(all[from]!)) from++
  if (ends !== 'left') while (to > from && signs.has(all[to - 1]!)) to--
  return from === 0 && to === all.length ? text : all.slice(from, to).join('')
}

export function capitalized(text: string): string {
  const [first = '', ...rest] = text
  return first.toUpperCase() + rest.join('').toLowerCase()
}

type Method = (text: string, args: readonly TemplateValue[]) => TemplateValue

const strips =
  (ends: 'both' | 'left' | 'right'): Method =>
  (text, [chars]) =>
    templateValue(stripped(text, ends, chars === undefined || isNone(chars) ? undefined : textIn(chars)))
const tests =
  (test: (text: string) => boolean): Method =>
  (text) =>
    templateValue(test(text))
const cased = (text: string) => text.toLowerCase() !== text.toUpperCase()

export const METHODS: Readonly<Record<string, Method>> = {
  strip: strips('both'),
  lstrip: strips('left'),
  rstrip: strips('right'),
  capitalize: (text) => templateValue(capitalized(text)),
  casefold: (text) => templateValue(text.toLowerCase()),
  removeprefix: (text, [start]) =>
    templateValue(text.startsWith(textIn(start)) ? text.slice(textIn(start).length) : text),
  removesuffix: (text, [end]) =>
    templateValue(text.endsWith(textIn(end)) ? text.slice(0, text.length - textIn(end).length) : text),
  splitlines: (text) => templateValue(text === '' ? [] : text.replace(/\r?\n$|\r$/, '').split(/\r\n|\n|\r/)),
  partition: (text, [mark]) => tupled(text, text.indexOf(textIn(mark)), textIn(mark), [text, '', '']),
  rpartition: (text, [mark]) => tupled(text, text.lastIndexOf(textIn(mark)), textIn(mark), ['', '', text]),
  rsplit: (text, args) => rsplit(text, args),
  join: (text, [list]) =>
    templateValue((itemsOf(list ?? templateValue([])) ?? []).map((each) => textIn(each)).join(text)),
  count: (text, [part]) => templateValue(text.split(textIn(part)).length - 1),
  find: (text, [part]) => templateValue(signs(text, text.indexOf(textIn(part)))),
  rfind: (text, [part]) => templateValue(signs(text, text.lastIndexOf(textIn(part)))),
  isdigit: tests((text) => /^\p{Nd}+$/u.test(text)),
  isalpha: tests((text) => /^\p{L}+$/u.test(text)),
  isalnum: tests((text) => /^[\p{L}\p{N}]+$/u.test(text)),
  isspace: tests((text) => text !== '' && stripped(text) === ''),
  isupper: tests((text) => cased(text) && text === text.toUpperCase()),
  islower: tests((text) => cased(text) && text === text.toLowerCase()),
}

export function methodOf(text: string, name: unknown): TemplateValue | undefined {
  const method = typeof name === 'string' && Object.hasOwn(METHODS, name) ? METHODS[name] : undefined
  return method && functionOf((args) => method(text, args))
}

function textIn(value: TemplateValue | undefined): string {
  if (typeof value?.value === 'string') return value.value
  throw new TypeError(`a text is wanted, not ${value === undefined || isAbsent(value) ? 'nothing' : value.toString()}`)
}

const signs = (text: string, at: number) => (at < 0 ? at : Array.from(text.slice(0, at)).length)

function tupled(text: string, at: number, mark: string, whole: readonly string[]): TemplateValue {
  return templateValue(at < 0 ? whole : [text.slice(0, at), mark, text.slice(at + mark.length)])
}

function rsplit(text: string, [mark, most]: readonly TemplateValue[]): TemplateValue {
  const parts = mark === undefined || isNone(mark) ? stripped(text).split(/\s+/u) : text.split(textIn(mark))
  const count = typeof most?.value === 'number' && most.value >= 0 ? most.value : parts.length
  if (parts.length <= count + 1 || mark === undefined || isNone(mark)) return templateList(parts.map(templateValue))
  const rest = parts.splice(0, parts.length - count).join(textIn(mark))
  return templateList([rest, ...parts].map(templateValue))
}

/** `'%s is %d' % ...`, as far as templates write it. */
export function formatted(form: string, args: readonly string[]): string {
  let at = 0
  const out = form.replace(/%(?:([sdr])|(%)|.)/g, (all, kind: string | undefined, sign: string | undefined) => {
    if (sign !== undefined) return '%'
    if (kind === undefined) throw new TypeError(`the format ${all} is not known here`)
    if (at >= args.length) throw new TypeError('not enough arguments for format string')
    return args[at++]!
  })
  if (at < args.length) throw new TypeError('not all arguments converted during string formatting')
  return out
}
