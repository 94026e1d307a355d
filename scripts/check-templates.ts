/**
 * `npm run check:templates -- FOLDER...`: renders chat templates as their makers publish them (`*.jinja`, or in a
 * `tokenizer_config.json`), and holds what each makes of a call and its result to the form in which the family that we
 * take it for spells calls. A template that does not render, or spells calls otherwise, is a fault; one of a family that
 * nobody here knows is named.
 */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { JinjaTemplate } from '../src/decode/prompt/template.js'
import type { ToolFormat } from '../src/decode/tools/format.js'
import { toolFormatOf } from '../src/decode/tools/formats.js'

const NAME = 'get_weather'
const ARGUMENTS = { city: 'Paris', days: 3 }
const properties = {
  city: { type: 'string', description: 'Where.' },
  days: { type: 'integer', description: 'How many.' },
}
const tool = {
  type: 'function' as const,
  function: { name: NAME, description: 'Weather', parameters: { type: 'object', properties, required: ['city'] } },
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

/** A conversation with a call and what came of it; `calls` of them at once. */
function rendered(template: string, { callId }: ToolFormat, calls: number): string {
  const ids = Array.from({ length: calls }, (_, i) => `call_${i}23456789`).map((id) => callId?.(id) ?? id)
  const toolCalls = ids.map((id) => ({ id, type: 'function' as const, function: { name: NAME, arguments: ARGUMENTS } }))
  return new JinjaTemplate(template, { bos_token: '<s>', eos_token: '</s>' }).render({
    tools: [tool],
    options: {},
    messages: [
      { role: 'user', content: 'How is the weather?' },
      { role: 'assistant', content: '', tool_calls: toolCalls },
      ...ids.map((id) => ({ role: 'tool', content: 'sunny', tool_call_id: id, name: NAME })),
    ],
  })
}

/** Blanks and the kind of quote are each template's own matter, and ids a template's alone. */
const bare = (text: string): string =>
  text
    .replace(/\s+/g, '')
    .replaceAll("'", '"')
    .replace(/,"id":"\w+"/g, '')

function faultOf(template: string, format: ToolFormat): string | undefined {
  const { open, close, separator, between } = format
  const one = format.spell(NAME, JSON.stringify(ARGUMENTS)).replaceAll(/0{9}/g, '123456789')
  for (const calls of separator === undefined && between === undefined ? [1] : [1, 2]) {
    const spelled =
      open +
      Array(calls)
        .fill(one)
        .join(separator ?? close + (between ?? '') + open) +
      close
    const text = rendered(template, format, calls).replaceAll(/\d23456789/g, '123456789')
    if (!bare(text).includes(bare(spelled))) return `${calls} of them are not spelled ${JSON.stringify(spelled)}`
  }
  return undefined
}

let faults = 0
const sources = (await Promise.all(process.argv.slice(2).map(sourcesIn))).flat()
if (sources.length === 0) {
  console.error('Name folders that hold chat templates.')
  process.exit(2)
}
for (const { name, template } of sources.sort((a, b) => a.name.localeCompare(b.name))) {
  const format = toolFormatOf(template)
  let said = 'as its template spells them'
  try {
    const known = format.native && format.name !== 'unknown'
    const fault = known ? faultOf(template, format) : undefined
    if (!known) said = rendered(template, format, 1) && 'told of in the prompt, or in the commonest form'
    if (fault !== undefined) {
      faults++
      said = `NO: ${fault}`
    }
  } catch (error) {
    faults++
    said = `NO: ${(error as Error).message}`
  }
  console.log(`${name}: ${format.name}, calls ${said}`)
}
process.exit(faults === 0 ? 0 : 1)
