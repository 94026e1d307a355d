import { BASE, type ChatBody } from './api.js'

/** The request that the page would send, in the words of others. */
export function asJavaScript(body: ChatBody, project: string, origin: string, served = false): string {
  const options = [
    `  baseURL: ${literal(origin + BASE)},`,
    `  apiKey: ${literal(served ? 'your key, if the server asks for one' : 'none')},`,
    ...(project === '' ? [] : [`  project: ${literal(project)},`]),
    ...(served ? [] : ['  dangerouslyAllowBrowser: true,']),
  ]
  const read = body.response_format
    ? 'console.log(JSON.parse(completion.choices[0].message.content))'
    : 'console.log(completion.choices[0].message.content)'
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
    `const completion = await client.chat.completions.create(${JSON.stringify(body, null, 2)})`,
    read,
    '',
  ].join('\n')
}

/** `server` is the origin of the one that the page came from; without it, one that is started for this. */
export function asCurl(body: ChatBody, project: string, server?: string): string {
  const base = (server ?? 'http://127.0.0.1:8080') + BASE
  // A quote inside a quoted word of the shell: end it, say the quote, go on.
  const data = JSON.stringify(body, null, 2).replaceAll("'", "'\\''")
  return [
    ...(server !== undefined
      ? ["# With a key, where the server asks for one: -H 'authorization: Bearer ...'"]
      : [
          '# A service worker answers pages alone. The same /v1 for the terminal:',
          `#   npx local-v1 serve --model ${body.model}`,
        ]),
    `curl ${base}/chat/completions \\`,
    "  -H 'content-type: application/json' \\",
    ...(project === '' ? [] : [`  -H 'openai-project: ${project.replaceAll("'", "'\\''")}' \\`]),
    `  -d '${data}'`,
    '',
  ].join('\n')
}

const literal = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
