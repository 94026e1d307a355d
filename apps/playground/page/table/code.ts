/** The same table, made by an application of one's own. */
import { BASE, type ChatBody } from '../api.js'
import { COMMAND, type CodeSample, curl, javaScriptText, type Place, pythonClient, pythonValue } from '../code.js'
import { readable } from '../readable.js'
import { schemaOf } from '../schema-fields.js'
import { AT_ONCE, bodyFor } from './filling.js'
import type { Wanted } from './rows.js'

export interface Asked {
  readonly wanted: Wanted
  readonly model: string
  readonly evidence: boolean
  readonly limit: Pick<ChatBody, 'max_tokens'>
  /** The first of the texts. */
  readonly text: string
}

export function tableCode(request: Asked, place: Place): CodeSample[] {
  const body = { ...bodyFor(request.text, request.wanted, request.model, request.evidence), ...request.limit }
  return [
    { name: 'React', code: asReact(request, place) },
    { name: 'Python', code: asPython(request, place) },
    { name: 'Terminal', code: asCommand(request) },
    { name: 'curl', code: curl('/chat/completions', body, place) },
  ]
}

const instructionsOf = ({ wanted }: Asked) => wanted.sentence.trim()
const schemaText = ({ wanted }: Asked) => readable(schemaOf(wanted.fields))

function asReact(request: Asked, { origin, served }: Place): string {
  const { max_tokens } = request.limit
  const limit = max_tokens === undefined ? '' : `, maxTokens: ${JSON.stringify(max_tokens)}`
  const names = request.wanted.fields.map(({ name }) => javaScriptText(name))
  const from = served
    ? [
        "import { extract } from 'local-v1/extract'",
        '',
        `const from = { baseURL: ${javaScriptText(origin + BASE)}, apiKey: 'your key, if the server needs one' }`,
      ]
    : [
        "import { extract } from 'local-v1/extract'",
        "import { install } from 'local-v1/service-worker'",
        '',
        "const from = await install({ script: '/v1.js' })",
      ]
  return [
    "import { useEffect, useState } from 'react'",
    ...from,
    `const schema = ${schemaText(request)} as const`,
    `const options = { from, model: ${javaScriptText(request.model)}, instructions: ${javaScriptText(instructionsOf(request))}${limit} }`,
    '',
    'export function Table({ texts }: { texts: readonly string[] }) {',
    '  const [rows, setRows] = useState<Record<number, Record<string, unknown>>>({})',
    '  useEffect(() => {',
    '    const aborter = new AbortController()',
    '    const { signal } = aborter',
    '    // Each takes the next text that nobody has taken.',
    '    const waiting = texts.entries()',
    '    const fill = async () => {',
    '      for (const [i, text] of waiting) {',
    '        const row = await extract(schema, text, { ...options, signal })',
    '        setRows((rows) => ({ ...rows, [i]: row }))',
    '      }',
    '    }',
    '    setRows({})',
    `    Promise.all(Array.from({ length: ${AT_ONCE} }, fill)).catch((error) => signal.aborted || console.error(error))`,
    '    return () => aborter.abort()',
    '  }, [texts])',
    '  return (',
    '    <table>',
    '      <thead>',
    `        <tr>${names.map((name) => `<th>{${name}}</th>`).join('')}</tr>`,
    '      </thead>',
    '      <tbody>',
    '        {texts.map((_, i) => (',
    '          <tr key={i}>',
    ...names.map((name) => `            <td>{String(rows[i]?.[${name}] ?? '')}</td>`),
    '          </tr>',
    '        ))}',
    '      </tbody>',
    '    </table>',
    '  )',
    '}',
    '',
  ].join('\n')
}

function asPython(request: Asked, place: Place): string {
  const { max_tokens } = request.limit
  return [
    ...pythonClient(request.model, place, 'import json, pathlib, sys'),
    `schema = ${pythonValue(schemaOf(request.wanted.fields), '')}`,
    '',
    'for path in sys.argv[1:]:',
    '    completion = client.chat.completions.create(',
    `        model=${JSON.stringify(request.model)},`,
    '        temperature=0,',
    ...(max_tokens === undefined ? [] : [`        max_tokens=${JSON.stringify(max_tokens)},`]),
    '        messages=[',
    `            {"role": "system", "content": ${JSON.stringify(instructionsOf(request))}},`,
    '            {"role": "user", "content": pathlib.Path(path).read_text("utf-8")},',
    '        ],',
    '        response_format={"type": "json_schema", "json_schema": {"name": "row", "strict": True, "schema": schema}},',
    '    )',
    '    print(json.dumps(json.loads(completion.choices[0].message.content), ensure_ascii=False))',
    '',
  ].join('\n')
}

/** A word of the shell. */
const quoted = (text: string) => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

function asCommand(request: Asked): string {
  return [
    "cat > schema.json <<'END'",
    schemaText(request),
    'END',
    `${COMMAND} extract schema.json *.txt --model ${quoted(request.model)} \\`,
    `  --instructions ${quoted(instructionsOf(request))} > rows.jsonl`,
    '',
  ].join('\n')
}
