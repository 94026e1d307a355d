/**
 * `npm run check:templates -- [--token TOKEN] FOLDER...`: renders chat templates as their makers publish them (`*.jinja`, or in a
 * `tokenizer_config.json`), and holds what each makes of a call and its result to the form in which the family that we
 * take it for spells calls, reads them letter by letter, and asks the family's grammar whether it lets them be written, and
 * no others, where a call is required, named or strict, and that no word of a conversation is lost, those beside calls among them. A template that does not render, or spells calls otherwise, is a fault; one of a family that
 * nobody here knows is named. Then each renders eleven conversations, here and in Python's Jinja2 as transformers sets it
 * up (Debian: `python3-jinja2`): all must be equal, but for those of a list that gives reasons.
 */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import type { ChatCall, OutputGrammar } from '../src/contract/engine.js'
import { conversationText } from '../src/generate/prompt/conversation.js'
import { Guard, guarded } from '../src/generate/prompt/guard.js'
import { habitsOf, keepsCalls } from '../src/generate/prompt/kept-calls.js'
import { JinjaTemplate } from '../src/generate/prompt/template.js'
import { type ToolFormat, together } from '../src/generate/tools/format.js'
import { TOOL_FORMATS, toolFormatOf } from '../src/generate/tools/formats.js'
import { Constraints } from '../src/grammar/constraints/constraints.js'
import { Vocabulary } from '../src/grammar/structured.js'
import { atOnce } from '../src/platform/turns.js'
import { compared, INTENDED, isEqual } from './templates/against-python.js'
import { madeConversations } from './templates/made-conversations.js'

const NAME = 'get_weather'
const ARGUMENTS = { city: 'Paris', days: 3 }
const properties = {
  city: { type: 'string', description: 'Where.' },
  days: { type: 'integer', description: 'How many.' },
}

interface Source {
  readonly name: string
  readonly template: string
}

async function sourcesIn(folder: string): Promise<Source[]> {
  const found: Source[] = []
  for (const entry of await readdir(folder, { recursive: true })) {
    const path = join(folder, entry)
    if (entry.endsWith('.jinja')) found.push({ name: basename(entry), template: await readFile(path, 'utf8') })
    if (basename(entry) !== 'tokenizer_config.json') continue
    const { chat_template: template } = JSON.parse(await readFile(path, 'utf8')) as { chat_template?: unknown }
    if (typeof template === 'string') found.push({ name: basename(dirname(dirname(path))), template })
  }
  return found
}

/** A conversation with a call and what came of it, as the library hands it to a template; `calls` of them at once. */
function rendered(template: JinjaTemplate, format: ToolFormat, calls: number): string {
  const ids = Array.from({ length: calls }, (_, i) => `call_${i}23456789`)
  const toolCalls = ids.map((id) => ({ id, name: NAME, arguments: JSON.stringify(ARGUMENTS) }))
  const call = callOf('auto', true, [
    { role: 'user', content: 'How is the weather?' },
    { role: 'assistant', content: '', toolCalls },
    ...ids.map((id) => ({ role: 'tool' as const, content: 'sunny', toolCallId: id })),
  ])
  return written(template, format, call)
}

function written(template: JinjaTemplate, format: ToolFormat, call: ChatCall): string {
  return atOnce(
    conversationText(call, new Guard('\ufdef', guarded([], [])), template, format, atOnce(habitsOf(template, format))),
  )
}

const MADE = madeConversations(60)

/** Whatever a conversation says is told, what stands beside calls too, and calls that were made at once. */
function lostFault(template: JinjaTemplate, format: ToolFormat): string | undefined {
  const calls = (...ids: string[]) =>
    ids.map((id) => ({ id: `${id}0000000`, name: NAME, arguments: `{"city":"in_${id}"}` }))
  const result = (id: string) => ({ role: 'tool' as const, content: `result_${id}`, toolCallId: `${id}0000000` })
  const conversations: readonly ChatCall['messages'][] = [
    [
      { role: 'system', content: 'said_by_system' },
      { role: 'user', content: 'said_by_user' },
      { role: 'assistant', content: 'said_beside_two', reasoning: 'thought', toolCalls: calls('aa', 'bb') },
      ...[result('aa'), result('bb')],
      { role: 'assistant', content: 'said_then' },
      { role: 'user', content: 'said_again' },
      { role: 'assistant', content: 'said_beside_one', toolCalls: calls('cc') },
      result('cc'),
    ],
    ...MADE,
  ]
  for (const [i, messages] of conversations.entries()) {
    const call = callOf(i % 3 === 1 ? 'none' : 'auto', true, messages)
    const text = written(template, format, i % 3 === 2 ? { ...call, tools: [] } : call)
    const words = JSON.stringify(messages).match(/said_\w+|result_\w+|in_\w+/g)!
    const lost = words.filter((word) => !text.includes(word))
    if (lost.length > 0) return `what is said is lost: ${lost.join(', ')}`
  }
  return undefined
}

function callOf(toolChoice: ChatCall['toolChoice'], strict: boolean, messages: ChatCall['messages'] = []): ChatCall {
  return {
    ...{ id: '', model: '', messages, signal: new AbortController().signal, n: 1, stop: [], sampling: {} },
    ...{ output: { type: 'text' }, toolChoice, parallelToolCalls: true, describeSchema: false },
    tools: [
      { name: NAME, description: 'Weather', parameters: { type: 'object', properties, required: ['city'] }, strict },
      { name: 'other', parameters: { type: 'object', properties: {} }, strict },
    ],
  }
}

/** Blanks and the kind of quote are each template's own matter, and ids a template's alone. */
const bare = (text: string): string =>
  text
    .replace(/\s+/g, '')
    .replaceAll("'", '"')
    .replace(/,"id":"\w+"/g, '')

function spellingFault(template: JinjaTemplate, format: ToolFormat): string | undefined {
  // Those of earlier turns are spelled otherwise, and must be read from there.
  if (format.past !== undefined)
    return atOnce(keepsCalls(template, format)) ? undefined : 'those of earlier turns are not read'
  const one = format.spell(NAME, JSON.stringify(ARGUMENTS)).replaceAll(/0{9}/g, '123456789')
  for (const calls of format.separator === undefined && format.between === undefined ? [1] : [1, 2]) {
    const spelled = together(format, Array(calls).fill(one))
    const text = rendered(template, format, calls).replaceAll(/\d23456789/g, '123456789')
    if (!bare(text).includes(bare(spelled))) return `${calls} of them are not spelled ${JSON.stringify(spelled)}`
  }
  return undefined
}

/** What is written is understood letter by letter. */
function readingFault(format: ToolFormat): string | undefined {
  const reader = format.reader(callOf('auto', false).tools)
  const deltas = [...format.spell(NAME, JSON.stringify(ARGUMENTS))].flatMap((letter) => reader.push(letter) ?? [])
  const name = deltas.find((delta) => delta.name !== undefined)?.name
  const json = deltas.map((delta) => delta.arguments).join('')
  const isRight = name === NAME && isDeepStrictEqual(JSON.parse(json), ARGUMENTS)
  return isRight ? undefined : `they are read as ${name} ${json}`
}

/** What is written may be written where a call must come, this call must come, or its parameters are strict, and no other. */
function grammarFault(format: ToolFormat): string | undefined {
  const good = format.spell(NAME, JSON.stringify(ARGUMENTS))
  for (const choice of ['required', { name: NAME }] as const) {
    for (const strict of [true, false]) {
      const call = callOf(choice, strict)
      const { toolGrammar } = atOnce(constraints.of({ ...call, places: PLACES }))
      const grammar = format.grammar({ ...call, ...(toolGrammar && { toolGrammar }) })
      const where = `where ${JSON.stringify(choice)}${strict ? ', strict,' : ''} asks for a call`
      if (!takes(grammar, good)) return `${good} may not be written ${where}`
      const wrong = ['nobody', ...(typeof choice === 'string' ? [] : ['other'])].map((name) => format.spell(name, '{}'))
      if (strict) wrong.push(format.spell(NAME, '{"city":"Paris","days":"x"}'), format.spell(NAME, '{"days":3}'))
      const taken = wrong.find((each) => takes(grammar, each))
      if (taken !== undefined) return `${taken} may be written ${where}`
    }
  }
  return undefined
}

/** Whether a call may be written and be at its end: a token a byte, and one for each of the families' marks. */
function takes(grammar: OutputGrammar, text: string): boolean {
  const constraint = grammar.start(VOCABULARY)
  for (const piece of text.split(MARK).filter(Boolean)) {
    const mark = MARKS.indexOf(piece)
    const tokens = mark >= 0 ? [256 + mark] : new TextEncoder().encode(piece)
    for (const token of tokens) if (!constraint.accept(token)) return false
  }
  return constraint.shortest === 0
}

const MARKS = [...new Set(TOOL_FORMATS.flatMap(({ marks = [] }) => marks))]
const MARK = new RegExp(`(${MARKS.map((mark) => mark.replace(/[[\]|]/g, '\\$&')).join('|')})`)
const BYTES = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))
const VOCABULARY = new Vocabulary([...BYTES, ...MARKS.map(() => undefined), undefined], {
  eos: [256 + MARKS.length],
  named: Object.fromEntries(MARKS.map((mark, i) => [mark, 256 + i])),
})
const constraints = new Constraints()
const PLACES = { format: 'response_format', tools: ['tools[0].function.parameters'] }

const HELD = 'calls as its template spells them, read letter by letter, kept to by required, named and strict'
const NOT_KNOWN = 'calls told of in the prompt, or in the commonest form'

function verdict(name: string, source: string, format: ToolFormat): { outcome: string; isFault: boolean } {
  try {
    const template = new JinjaTemplate(source, { bos_token: '<s>', eos_token: '</s>' })
    const isKnown = format.native && format.name !== 'unknown'
    const text = rendered(template, format, 1)
    const untold = text.includes('How many.') ? undefined : 'the model is not told of its tools'
    const lost = text.includes('Paris') ? untold : 'a call is lost on its way through the template'
    const fault =
      (isKnown ? spellingFault(template, format) : lost) ??
      untold ??
      lostFault(template, format) ??
      readingFault(format) ??
      grammarFault(format)
    if (fault !== undefined) {
      const reason = INTENDED[name]
      return reason === undefined
        ? { outcome: `NO: ${fault}`, isFault: true }
        : { outcome: `not here: ${reason}`, isFault: false }
    }
    const ours =
      !isKnown || atOnce(keepsCalls(template, format))
        ? ''
        : ` (in our words: it writes ${template.writesCalls ? 'them otherwise' : 'none'})`
    return { outcome: (isKnown ? HELD : NOT_KNOWN) + ours, isFault: false }
  } catch (error) {
    const reason = INTENDED[name]
    if (reason !== undefined) return { outcome: `not here: ${reason}`, isFault: false }
    return { outcome: `NO: ${(error as Error).message}`, isFault: true }
  }
}

const { values, positionals: folders } = parseArgs({
  allowPositionals: true,
  options: { token: { type: 'string', multiple: true } },
})
/** Control tokens that the tokenizers of all of them are taken to have. */
const tokens = values.token ?? []
let faults = 0
const sources = (await Promise.all(folders.map(sourcesIn))).flat()
if (sources.length === 0) {
  console.error('Name folders that hold chat templates.')
  process.exit(2)
}
for (const { name, template } of sources.sort((a, b) => a.name.localeCompare(b.name))) {
  const format = toolFormatOf(template, (token) => tokens.includes(token))
  const { outcome, isFault } = verdict(name, template, format)
  if (isFault) faults++
  console.log(`${name}: ${format.name}, ${outcome}`)
}

const all = compared(sources.map(({ template }) => template))
let [equal, intended] = [0, 0]
for (const [i, list] of all.entries()) {
  const { name } = sources[i]!
  for (const each of list) {
    if (isEqual(each)) equal++
    else if (INTENDED[name] !== undefined) intended++
    else {
      faults++
      const { conversation, python, ours } = each
      const both = JSON.stringify({ python: python.text ?? python.error, ours: ours.text ?? ours.error })
      console.log(`${name}: NO: ${conversation} is not what Python makes of it: ${both}`)
    }
  }
}
for (const { name } of sources) if (INTENDED[name]) console.log(`${name}: otherwise than in Python: ${INTENDED[name]}`)
const count = all.flat().length
console.log(`${equal} of ${count} equal to Python's Jinja2, ${intended} otherwise on purpose.`)
process.exit(faults === 0 ? 0 : 1)
