import type { TemplateValue } from './values.js'

/** A value of a template as Python prints it: `['a', None, {'b': True}]`. */
export function pythonText(value: TemplateValue): string {
  const { type, value: held } = value
  if (type === 'NullValue') return 'None'
  if (type === 'UndefinedValue') return 'Undefined'
  if (typeof held === 'boolean') return held ? 'True' : 'False'
  if (typeof held === 'string') return quoted(held)
  if (Array.isArray(held)) {
    const parts = (held as TemplateValue[]).map(pythonText)
    if (type !== 'TupleValue') return `[${parts.join(', ')}]`
    return parts.length === 1 ? `(${parts[0]},)` : `(${parts.join(', ')})`
  }
  if (held instanceof Map) {
    const entries = [...(held as Map<unknown, TemplateValue>)].map(
      ([key, each]) => `${typeof key === 'string' ? quoted(key) : key}: ${pythonText(each)}`,
    )
    return `{${entries.join(', ')}}`
  }
  return value.toString()
}

const ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }),
)
/** What Python takes to be no printable character. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u

/** In single quotes, unless there are some within it and no double ones. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  let out = ''
  for (const sign of text) {
    const known = ESCAPES.get(sign)
    if (known !== undefined) out += known
    else if (sign === quote) out += `\\${sign}`
    else out += HIDDEN.test(sign) ? codeOf(sign.codePointAt(0)!) : sign
  }
  return quote + out + quote
}

function codeOf(code: number): string {
  const hex = code.toString(16)
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

/** `datetime.now().strftime`, as far as templates ask for it. */
export function strftime(format: string): string {
  const now = new Date()
  const two = (value: number) => String(value).padStart(2, '0')
  const month = MONTHS[now.getMonth()]!
  const day = DAYS[now.getDay()]!
  const known: Readonly<Record<string, string>> = {
    ...{ '%Y': String(now.getFullYear()), '%y': two(now.getFullYear() % 100), '%m': two(now.getMonth() + 1) },
    ...{
      '%d': two(now.getDate()),
      '%H': two(now.getHours()),
      '%M': two(now.getMinutes()),
      '%S': two(now.getSeconds()),
    },
    ...{ '%B': month, '%b': month.slice(0, 3), '%A': day, '%a': day.slice(0, 3), '%%': '%' },
  }
  return String(format).replace(/%[A-Za-z%]/g, (code) => known[code] ?? code)
}
