/** The same table, made by an application of one's own. */
import { BASE } from '../api.js'
import { COMMAND, type CodeSample, curl, javaScriptText, type Place, pythonClient, pythonValue } from '../code.js'
import { readable } from '../readable.js'
import { schemaOf } from '../schema-fields.js'
import { AT_ONCE, bodyFor } from './filling.js'
import type { Wanted } from './rows.js'

export interface Asked {
  readonly wanted: Wanted
  readonly model: string
  readonly evidence: boolean
  /** The first of the texts. */
  readonly text: string
}

export function tableCode(asked: Asked, place: Place): CodeSample[] {
  return [
    { name: 'React', code: asReact(asked, place) },
    { name: 'Python', code: asPython(asked, place) },
    { name: 'Terminal', code: asCommand(asked) },
    {
      name: 'curl',
      code: curl('/chat/completions', bodyFor(asked.text, asked.wanted, asked.model, asked.evidence), place),
    },
  ]
}

const instructionsOf = ({ wanted }: Asked) => wanted.sentence.trim()
const schemaText = ({ wanted }: Asked) => readable(schemaOf(wanted.fields))

function asReact(asked: Asked, { origin, served }: Place): string {
  const names = asked.wanted.fields.map(({ name }) => javaScriptText(name))
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
    `const schema = ${schemaText(asked)} as const`,
    `const options = { from, model: ${javaScriptText(asked.model)}, instructions: ${javaScriptText(instructionsOf(asked))} }`,
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

function asPython(asked: Asked, place: Place): string {
  return [
    ...pythonClient(asked.model, place, 'import json, pathlib, sys'),
    `schema = ${pythonValue(schemaOf(asked.wanted.fields), '')}`,
    '',
    'for path in sys.argv[1:]:',
    '    completion = client.chat.completions.create(',
    `        model=${JSON.stringify(asked.model)},`,
    '        temperature=0,',
    '        messages=[',
    `            {"role": "system", "content": ${JSON.stringify(instructionsOf(asked))}},`,
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

function asCommand(asked: Asked): string {
  return [
    "cat > schema.json <<'END'",
    schemaText(asked),
    'END',
    `${COMMAND} extract schema.json *.txt --model ${quoted(asked.model)} \\`,
    `  --instructions ${quoted(instructionsOf(asked))} > rows.jsonl`,
    '',
  ].join('\n')
}
