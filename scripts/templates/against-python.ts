/** What a template makes of conversations, by Python's Jinja2 and by ours. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { FueledTemplate } from '../../src/generate/prompt/fueled.js'
import { variablesOf } from '../../src/generate/prompt/template.js'
import { CONVERSATIONS } from './conversations.js'

const VECTORS = 'takes one message: it is for vectors'
const PAIRS = 'takes a query and a document, which are no roles of a chat: Python stops, we find nothing there'

/** Templates that we render otherwise than Python, or that neither renders, and why. */
export const INTENDED: Readonly<Record<string, string>> = {
  'llama-cpp-deepseek-r1.jinja': 'writes a generator as JSON, which Python refuses; to us it is a list',
  'meetkai-functionary-medium-v3.1.jinja':
    'its `safe` has Python write `&#34;` for the quotes beside it; we leave them',
  'Kimi-K2-Instruct.jinja':
    'appends to a list and takes from it, which transformers forbids; the model was taught with it',
  'Kimi-K2-Thinking.jinja':
    'appends to a list and takes from it, which transformers forbids; the model was taught with it',
  'CohereLabs-command-a-reasoning-08-2025.jinja':
    'takes the first part of a text that is empty, where Python stops; we find nothing there',
  'MiroThinker.jinja': 'sets a field of a message, which Python refuses too',
  'fireworks-ai-firefunction-v1.jinja': 'wants a message of the role `functions` before all others, here as in Python',
  'fireworks-ai-llama-3-firefunction-v2.jinja': 'wants `functions` and `datetime` beside what transformers gives',
  'template_vlm2vec.jinja': VECTORS,
  'nemotron_embed_vl.jinja': VECTORS,
  'vlm2vec_phi3v.jinja': VECTORS,
  'vlm2vec_qwen2vl.jinja': VECTORS,
  'bge-reranker-v2-gemma.jinja': PAIRS,
  'mxbai_rerank_v2.jinja': PAIRS,
  'nemotron-rerank.jinja': PAIRS,
  'nemotron-vl-rerank.jinja': PAIRS,
  'qwen3_reranker.jinja': PAIRS,
  'qwen3_vl_reranker.jinja': PAIRS,
  'template_kimi_audio.jinja': 'takes recordings by another name: it is for what was said, and passes over messages',
}

export interface Rendered {
  readonly text?: string
  readonly error?: string
  readonly raised?: boolean
}
export interface Compared {
  readonly conversation: string
  readonly python: Rendered
  readonly ours: Rendered
}

export const TOKENS = { bos_token: '<s>', eos_token: '</s>' }

export function compared(templates: readonly string[]): Compared[][] {
  const inputs = Object.values(CONVERSATIONS).map((input) => variablesOf(input, TOKENS))
  const python = inPython(templates, inputs)
  return templates.map((source, at) =>
    Object.keys(CONVERSATIONS).map((conversation, i) => ({
      conversation,
      python: python[at]![i]!,
      ours: renderedHere(source, inputs[i]!),
    })),
  )
}

/** What Python makes of each input by each template. */
export function inPython(templates: readonly string[], inputs: readonly object[]): Rendered[][] {
  const input = JSON.stringify({ templates, inputs })
  const script = fileURLToPath(new URL('./render.py', import.meta.url))
  const run = spawnSync('python3', [script], { input, encoding: 'utf8', maxBuffer: 2 ** 30 })
  if (run.status !== 0) throw new Error(`Python (with python3-jinja2) renders nothing: ${run.stderr}`)
  return JSON.parse(run.stdout) as Rendered[][]
}

function renderedHere(source: string, variables: Readonly<Record<string, unknown>>): Rendered {
  try {
    return { text: new FueledTemplate(source).render(variables) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

export function isEqual({ python, ours }: Compared): boolean {
  return python.text === undefined ? ours.text === undefined : atNoTime(python.text) === atNoTime(ours.text)
}

/** Some tell what time it is, and the two are not asked in the same second. */
const atNoTime = (text: string | undefined) => text?.replace(/\b\d\d:\d\d:\d\d\b/g, 'now')
