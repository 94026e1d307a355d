/**
 * `npm run check:grammars -- FOLDER [--python FOLDER] [--asked N]`: has custom tools of the grammars in a folder (`*.lark`,
 * `*.regex`, as their makers publish them) called through OpenAI's client, in chats and responses, whole and streamed, by
 * nano and by made-up weights. Whole and streamed must say the same, and each text be one of its grammar: Python's `lark`
 * (`pip install lark -t FOLDER`, named by `--python`) judges, and its `re`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import OpenAI from 'openai'
import { webgpu } from '../src/engines/webgpu/index.js'
import { tinyRepository, writeRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { createV1 } from '../src/index.js'

interface Grammar {
  readonly name: string
  readonly syntax: 'lark' | 'regex'
  readonly definition: string
}

const MOST_TOKENS = 160
const NAME = 'write'
const ASKED = 'Use the tool: add four and four, or whatever it takes.'
const DESCRIPTION = 'Writes what its grammar has.'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { python: { type: 'string' }, asked: { type: 'string', default: '8' } },
})
const [folder] = positionals
const grammars = folder === undefined ? [] : await grammarsIn(folder)
if (grammars.length === 0) {
  console.error('Name a folder that holds grammars: *.lark, *.regex.')
  process.exit(2)
}

const made = await mkdtemp(join(tmpdir(), 'grammars-'))
await writeRepository(tinyRepository(1, 4096), made)
const models = [
  { id: 'local-v1/nano', from: fileURLToPath(new URL('../models/nano', import.meta.url)) },
  { id: 'made-up/tiny', from: made, contextLength: 4096 },
]
const v1 = createV1({ engine: webgpu({ models, device: 'cpu', log: () => {} }), keys: 'none', log: () => {} })
const client = new OpenAI({
  baseURL: 'http://device.test/v1',
  apiKey: 'none',
  maxRetries: 0,
  fetch: (url, init) => v1.fetch(new Request(url, init as RequestInit)),
})

let faults = 0
for (const grammar of grammars) {
  const texts: string[] = []
  for (const { id: model } of models) {
    for (let seed = 0; seed < Number(values.asked); seed++) {
      for (const ask of [inChat, inResponse]) {
        try {
          texts.push(await ask(model, grammar, seed))
        } catch (error) {
          fault(grammar, `${model}, ${ask.name}, seed ${seed}: ${(error as Error).message}`)
        }
      }
    }
  }
  const refused = judged(grammar, texts)
  const isJudged = typeof refused !== 'string'
  if (isJudged) for (const text of refused) fault(grammar, `it has no ${JSON.stringify(text)}`)
  const by = isJudged ? 'judged' : `not judged: ${refused}`
  console.log(`${grammar.name}: ${texts.length} texts, ${new Set(texts).size} of them different, ${by}`)
}
await v1.close()
await rm(made, { recursive: true })
console.log(`${grammars.length} grammars, ${faults} faults.`)
process.exitCode = faults === 0 ? 0 : 1

function fault({ name }: Grammar, what: string): void {
  faults++
  console.log(`${name}: NO: ${what}`)
}

async function grammarsIn(path: string): Promise<Grammar[]> {
  const names = (await readdir(path)).filter((name) => /\.(lark|regex)$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => ({
      name,
      syntax: extname(name) === '.lark' ? ('lark' as const) : ('regex' as const),
      definition: await readFile(join(path, name), 'utf8'),
    })),
  )
}

async function inChat(model: string, { syntax, definition }: Grammar, seed: number): Promise<string> {
  const request = {
    ...{ model, seed, temperature: 1, max_completion_tokens: MOST_TOKENS },
    messages: [{ role: 'user' as const, content: ASKED }],
    tools: [
      {
        type: 'custom' as const,
        custom: {
          ...{ name: NAME, description: DESCRIPTION },
          format: { type: 'grammar' as const, grammar: { syntax, definition } },
        },
      },
    ],
    tool_choice: { type: 'custom' as const, custom: { name: NAME } },
  }
  const { choices } = await client.chat.completions.create(request)
  const call = choices[0]!.message.tool_calls?.[0]
  if (call?.type !== 'custom') throw new Error(`no call, but ${JSON.stringify(choices[0])}`)
  let streamed = ''
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    // The official types know the deltas of functions alone.
    const deltas = (chunk.choices[0]?.delta.tool_calls ?? []) as { custom?: { input?: string } }[]
    for (const { custom } of deltas) streamed += custom?.input ?? ''
  }
  return same(call.custom.input, streamed)
}

async function inResponse(model: string, { syntax, definition }: Grammar, seed: number): Promise<string> {
  const request = {
    ...{ model, input: ASKED, temperature: 1, max_output_tokens: MOST_TOKENS, store: false },
    // Sent as it is: OpenAI's own responses know no seed.
    ...{ seed },
    tools: [
      {
        ...{ type: 'custom' as const, name: NAME, description: DESCRIPTION },
        format: { type: 'grammar' as const, syntax, definition },
      },
    ],
    tool_choice: { type: 'custom' as const, name: NAME },
  }
  const { output } = await client.responses.create(request)
  const call = output.find(({ type }) => type === 'custom_tool_call')
  if (call?.type !== 'custom_tool_call') throw new Error(`no call, but ${JSON.stringify(output)}`)
  let streamed = ''
  let done: string | undefined
  for await (const event of await client.responses.create({ ...request, stream: true })) {
    if (event.type === 'response.custom_tool_call_input.delta') streamed += event.delta
    if (event.type === 'response.custom_tool_call_input.done') done = event.input
  }
  return same(call.input, same(streamed, done))
}

function same(one: string, other: string | undefined): string {
  if (one !== other) throw new Error(`one way it says ${JSON.stringify(one)}, the other ${JSON.stringify(other)}`)
  return one
}

/** The texts that Python finds not to be of the grammar, or why it judges none. */
function judged({ syntax, definition }: Grammar, texts: readonly string[]): string[] | string {
  const script = `
import json, re, sys
given = json.load(sys.stdin)
sys.path.insert(0, given["python"])
if given["syntax"] == "lark":
    try:
        from lark import Lark
        from lark.exceptions import GrammarError, LarkError
    except ImportError:
        sys.exit("Python has no lark (--python FOLDER)")
    # To Python's lark no terminal is empty, to llguidance and to us it may be.
    definition = given["definition"].replace("/(.*)/", "/(.+)/?")
    try:
        parser = Lark(definition, parser="earley", lexer="dynamic_complete")
    except GrammarError as error:
        # OpenAI's own sums say twice that an expression may be a term, which llguidance takes.
        sys.exit("Python's lark refuses the grammar: " + str(error).split("\\n")[0])
    def holds(text):
        try:
            parser.parse(text)
            return True
        except LarkError:
            return False
else:
    holds = re.compile(given["definition"]).fullmatch
json.dump([text for text in given["texts"] if not holds(text)], sys.stdout)
`
  const input = JSON.stringify({ syntax, definition, texts, python: values.python ?? '' })
  const run = spawnSync('python3', ['-c', script], { input, encoding: 'utf8', maxBuffer: 2 ** 28 })
  return run.status === 0 ? (JSON.parse(run.stdout) as string[]) : run.stderr.trim().split('\n').at(-1)!
}
