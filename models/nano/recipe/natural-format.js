/**
 * Reads `natural/*.txt`: texts written by hand, with their values marked where they stand.
 *
 *     # support mail                       what kind of text it is
 *     Hi, this is {who:person Ada Whitfield}, order {no:@ KX-2231}. {mood? angry=I am furious.|calm=No rush.}
 *     [You can call me on {tel:phone 0171 233}.|]
 *     ---
 *     customer/buyer name = who; who wrote the mail
 *     tone :angry|calm = mood
 *     phone = tel
 *     none: discount:num, delivery date
 *     ===
 *
 * `{id:type text}` is exchanged by another value of the type, `{id a|b}` by one of the list, `{id? key=text|key=text}`
 * by a wording that means the key; `{id}`, `{id.first}` say it again; `[a|b|]` is one of them or nothing. A field whose
 * value is not in the text is absent; `{id}` in a field's name is what the text says there, beside a name without. `@group name = id` lies in an object of its own, `@order.customer name = id` in one inside
 * another; `items[] : name, n:int, from.city = (a, b, e), (c, d, null)` is a list of records, here with an object in each.
 * `!` before a field: its description is always given, for its name says too little.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dateLike, numberIn } from './natural-values.js'
import { TYPE_NAMES } from './values.js'

const KNOWN = new Set([...TYPE_NAMES, '#', '@', 'date', 'time', 'stamp', 'weekday'])

export function readNatural(folder = new URL('natural/', import.meta.url)) {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.txt'))
    .sort()
  return files.flatMap((name) => parseFile(readFileSync(new URL(name, folder), 'utf8'), name))
}

export function parseFile(content, file) {
  return content
    .split(/^===$/m)
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      try {
        return parseText(part)
      } catch (error) {
        throw new Error(`${file}: ${error.message}\n${part.slice(0, 200)}`)
      }
    })
}

function parseText(part) {
  const [, kind, body, lines] = part.match(/^# ([^\n]*)\n([\s\S]*?)\n---\n([\s\S]*)$/) ?? []
  if (lines === undefined) throw new Error('no "# kind", text, "---" and fields')
  const slots = new Map()
  const text = parseBody(body, slots)
  const fields = []
  const absent = []
  for (const line of lines.split('\n').filter(Boolean)) {
    if (line.startsWith('none:')) absent.push(...line.slice(5).split(',').map(parseAbsent))
    else fields.push(parseField(line, slots))
  }
  if (fields.length === 0) throw new Error('no fields')
  return { kind, text, fields, absent, slots }
}

/** A list of strings, `{ slot }`s and `{ choices }`. */
function parseBody(source, slots) {
  let at = 0
  const parse = (stops) => {
    const parts = []
    let plain = ''
    const flush = () => {
      if (plain) parts.push(plain)
      plain = ''
    }
    while (at < source.length && !stops.includes(source[at])) {
      const letter = source[at]
      if (letter === '\\') {
        plain += source[at + 1]
        at += 2
      } else if (letter === '[') {
        flush()
        at++
        const choices = [parse('|]')]
        while (source[at] === '|') {
          at++
          choices.push(parse('|]'))
        }
        if (source[at] !== ']') throw new Error('a [ without its ]')
        at++
        // Brackets around one thing are brackets of the text.
        parts.push(...(choices.length > 1 ? [{ choices }] : ['[', ...choices[0], ']']))
      } else if (letter === '{') {
        flush()
        parts.push(parseSlot())
      } else {
        plain += letter
        at++
      }
    }
    flush()
    return parts
  }
  const parseSlot = () => {
    const head = source.slice(at).match(/^\{([A-Za-z]\w*)(\.\w+)?(\?| |:([a-z]\w*|#|@)(?:\(([\d-]+)\)|(\d+-\d+))? |\})/)
    if (!head) throw new Error(`not a slot: ${source.slice(at, at + 30)}`)
    const [whole, id, part, next, type, inner, range] = head
    const argument = inner ?? range
    at += whole.length
    if (next === '}') {
      if (!slots.has(id)) throw new Error(`{${id}} is said before it is marked`)
      return { again: id, part: part?.slice(1) }
    }
    if (slots.has(id)) throw new Error(`{${id} is marked twice`)
    const slot = { id, type, argument }
    slots.set(id, slot)
    if (type !== undefined && !KNOWN.has(type)) throw new Error(`no type ${type}`)
    const options = []
    do {
      if (source[at] === '|') at++
      let key
      if (next === '?') {
        while (source[at] === ' ') at++
        const said = source.slice(at).match(/^([^=|{}]+)=/)
        if (!said) throw new Error(`{${id}? has an option without a key`)
        key = keyOf(said[1])
        at += said[0].length
      }
      options.push({ key, parts: parse('|}') })
    } while (source[at] === '|')
    if (source[at] !== '}') throw new Error(`{${id} has no }`)
    at++
    slot.keyed = next === '?'
    slot.options = options
    if (type === 'date') dateLike(options[0].parts.join(''), true, argument)
    if (type && (options.length > 1 || options[0].parts.some((p) => typeof p !== 'string')))
      throw new Error(`{${id} has a type and more than a text`)
    return { slot }
  }
  const parts = parse('')
  return parts
}

const keyOf = (text) => (/^(true|false|null|-?\d+(\.\d+)?)$/.test(text) ? JSON.parse(text) : text)

const split = (names) => names.split('/').map((name) => name.replace('[]', '').trim())

function parseAbsent(part) {
  const [names, type = ''] = part.trim().split(':')
  return { names: split(names), type, notes: [], value: { literal: null } }
}

function parseField(line, slots) {
  const records = line.match(/^(@\w+ )?([^=:]+)\[\] *: *(.*?) *= *(\(.*\))(?: *;(.*))?$/)
  if (records) return parseRecords(records, slots)
  const [, bang, group, names, type, value, notes] =
    line.match(/^(!)?(?:@([\w.]+) )?([^=:]+?)(?: *:([^=]*?))? *= *(\[.*?\]|"[^"]*"|[^;]*?)(?: *;(.*))?$/) ?? []
  if (value === undefined) throw new Error(`not a field: ${line}`)
  const field = {
    always: bang !== undefined,
    group,
    names: split(names),
    type: type ?? '',
    value: parseValue(value, slots),
    notes: notesOf(notes),
  }
  if (field.names.every((name) => name.includes('{'))) throw new Error(`no name without a slot: ${line}`)
  if (field.always && field.notes.length === 0) throw new Error(`no description: ${line}`)
  checkType(field, slots, line)
  return field
}

const notesOf = (text) =>
  (text ?? '')
    .split(';')
    .map((note) => note.trim())
    .filter(Boolean)

function parseRecords([, group, names, columns, rows, notes], slots) {
  const fields = columns.split(',').map((column) => {
    const [, inside, name, type = ''] = column.trim().match(/^(?:([\w.]+)\.)?([^:.]+)(?::(.*))?$/) ?? []
    if (name === undefined) throw new Error(`not a column: ${column}`)
    return { group: inside, names: split(name), type, notes: [] }
  })
  const records = [...rows.matchAll(/\(([^)]*)\)/g)].map(([, row]) => {
    const values = row.split(',').map((value) => parseValue(value.trim(), slots))
    if (values.length !== fields.length) throw new Error(`a record of ${values.length} for ${fields.length}: (${row})`)
    values.forEach((value, i) => {
      checkType({ type: fields[i].type, value }, slots, row)
    })
    return values
  })
  return { group: group?.trim().slice(1), names: split(names), fields, records, notes: notesOf(notes) }
}

function parseValue(source, slots) {
  if (source.startsWith('['))
    return {
      list: source
        .slice(1, -1)
        .split(',')
        .map((s) => s.trim())
        .filter(Boolean)
        .map((s) => parseValue(s, slots)),
    }
  if (source.startsWith('"')) return { literal: source.slice(1, -1) }
  if (/^(true|false|null|-?\d+(\.\d+)?)$/.test(source)) return { literal: JSON.parse(source) }
  const [id, part] = source.split('.')
  if (!slots.has(id)) throw new Error(`no slot ${source}`)
  return { id, part }
}

function checkType({ type, value }, slots, line) {
  const keys = value.id && slots.get(value.id).keyed ? slots.get(value.id).options.map((o) => o.key) : undefined
  const known = keys ?? (value.literal === undefined ? undefined : [value.literal])
  if (type.includes('|') && known?.some((key) => key !== null && !type.split('|').includes(String(key))))
    throw new Error(`a value outside the enum: ${line}`)
  if (type.includes('|') && known === undefined && !value.list)
    for (const { parts } of slots.get(value.id).options)
      if (!type.split('|').includes(parts.join(''))) throw new Error(`"${parts.join('')}" is outside the enum: ${line}`)
  if (type === 'bool' && (known === undefined || known.some((key) => key !== null && typeof key !== 'boolean')))
    throw new Error(`not yes or no: ${line}`)
  if ((type === 'int' || type === 'num') && value.id && !keys)
    for (const { parts } of slots.get(value.id).options)
      if (numberIn(parts.join('')) === undefined) throw new Error(`"${parts.join('')}" is no number: ${line}`)
  if (type === 'date' && value.id && slots.get(value.id).type !== 'date' && !keys) throw new Error(`no date: ${line}`)
}
