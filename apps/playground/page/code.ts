import { npx } from '../../../docs/packages.json'
import { BASE, type ChatBody } from './api.js'

/** The command line: as long as its name on npm is nobody's, the installed one and no other. */
export const COMMAND = npx

/** The same request in one language or library. */
export interface CodeSample {
  /** What one chooses it by. */
  readonly name: string
  readonly code: string
}

/** Where the request goes to, and for whom. */
export interface Place {
  readonly project: string
  readonly origin: string
  /** A server answers, not the page itself. */
  readonly served: boolean
}

/** The request that the page would send, in the words of others. */
export function chatCode(body: ChatBody, place: Place): CodeSample[] {
  const content = 'completion.choices[0].message.content'
  const read = body.response_format ? `console.log(JSON.parse(${content}))` : `console.log(${content})`
  const more = body.evidence ? ['console.log(completion.choices[0].evidence)'] : []
  return [
    {
      name: 'JavaScript',
      code: openAiClient(place, 'completion', 'chat.completions.create', body, read, ...more),
    },
    { name: 'Python', code: python(body, place) },
    { name: 'curl', code: curl('/chat/completions', body, place) },
  ]
}

export function openAiClient(
  { project, origin, served }: Place,
  result: string,
  call: string,
  body: object,
  ...read: string[]
): string {
  const options = [
    `  baseURL: ${javaScriptText(origin + BASE)},`,
    `  apiKey: ${javaScriptText(served ? 'your key, if the server needs one' : 'none')},`,
    ...(project === '' ? [] : [`  project: ${javaScriptText(project)},`]),
    ...(served ? [] : ['  dangerouslyAllowBrowser: true,']),
  ]
  return [
    served
      ? '// The server that this page came from answers.'
      : '// In a page of this origin: its service worker answers, on this device.',
    "import OpenAI from 'openai'",
    '',
    'const client = new OpenAI({',
    ...options,
    '})',
    '',
    `const ${result} = await client.${call}(${JSON.stringify(body, null, 2)})`,
    ...read,
    '',
  ].join('\n')
}

/** What the Python client has no word of its own for goes in `extra_body`. */
function python({ model, messages, evidence, chat_template_kwargs, ...rest }: ChatBody, place: Place): string {
  const { temperature, top_p, max_tokens, seed, response_format, ...unnamed } = rest
  const named = { model, messages, temperature, top_p, max_tokens, seed, response_format }
  const extra = { evidence, chat_template_kwargs, ...unnamed }
  const given = Object.entries(named).filter(([, value]) => value !== undefined)
  const more = Object.values(extra).some((value) => value !== undefined) ? [['extra_body', extra] as const] : []
  return [
    ...pythonClient(model, place),
    '',
    'completion = client.chat.completions.create(',
    ...[...given, ...more].map(([name, value]) => `    ${name}=${pythonValue(value, '    ')},`),
    ')',
    'print(completion.choices[0].message.content)',
    '',
  ].join('\n')
}

/** The lines that every program in Python begins with. */
export function pythonClient(model: string, { project, origin, served }: Place, ...imports: string[]): string[] {
  const base = (served ? origin : 'http://127.0.0.1:8080') + BASE
  const key = served ? 'your key, if the server needs one' : 'none'
  const named = project === '' ? '' : `, project=${JSON.stringify(project)}`
  return [
    '# pip install openai',
    ...(served ? [] : [`# Only the page itself reaches its model. The same /v1: ${COMMAND} serve --model ${model}`]),
    ...imports,
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url=${JSON.stringify(base)}, api_key=${JSON.stringify(key)}${named})`,
  ]
}

/** As JSON, which but for its words is Python. */
export const pythonValue = (value: unknown, indent: string): string =>
  JSON.stringify(value, null, 4)
    .replaceAll('\n', `\n${indent}`)
    .replace(
      /("(?:[^"\\]|\\.)*")|\b(true|false|null)\b/g,
      (_, text: string | undefined, word: string) =>
        text ?? { true: 'True', false: 'False', null: 'None' }[word] ?? word,
    )

export function curl(path: string, body: { readonly model: string }, { project, origin, served }: Place): string {
  const base = (served ? origin : 'http://127.0.0.1:8080') + BASE
  // A quote inside a quoted word of the shell: end it, say the quote, go on.
  const data = JSON.stringify(body, null, 2).replaceAll("'", "'\\''")
  return [
    ...(served
      ? ["# With a key, if the server needs one: -H 'authorization: Bearer ...'"]
      : [
          '# A service worker answers only its own pages. The same /v1 for the terminal:',
          `#   ${COMMAND} serve --model ${body.model}`,
        ]),
    `curl ${base}${path} \\`,
    "  -H 'content-type: application/json' \\",
    ...(project === '' ? [] : [`  -H 'openai-project: ${project.replaceAll("'", "'\\''")}' \\`]),
    `  -d '${data}'`,
    '',
  ].join('\n')
}

/** Quoted, as a program has it. */
export const javaScriptText = (text: string) =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
