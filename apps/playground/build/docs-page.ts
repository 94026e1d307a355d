/**
 * The documentation that goes along with the page, for as long as no site of it has an address: what somebody needs who
 * has found the page, on one page. Of links to what is not on it the words stay.
 */
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'

export const DOCS_PAGE = 'docs.html'

/** In the order in which they stand on it; each is found by its name. */
const PARTS = new Map([
  ['README.md', 'local-v1'],
  ['docs/start/node.md', 'install'],
  ['docs/guides/command-line.md', 'command-line'],
  ['docs/guides/models.md', 'models'],
  ['docs/guides/strict-json.md', 'strict-json'],
  ['docs/guides/decisions.md', 'decisions'],
  ['docs/guides/in-the-browser.md', 'in-the-browser'],
  ['docs/guides/playground.md', 'playground'],
  ['docs/guides/errors.md', 'errors'],
  ['docs/guides/for-agents.md', 'for-agents'],
])

/** The address of the part that says how to install it. */
export const INSTALL_PART = `${DOCS_PAGE}#${PARTS.get('docs/start/node.md')}`

/** `root`: the repository's address, which ends with a slash. */
export async function docsPage(root: URL): Promise<string> {
  const parts = await Promise.all(
    [...PARTS].map(async ([path, name]) => {
      const text = (await readFile(new URL(path, root), 'utf8')).replace(/^---\n[\s\S]*?\n---\n/, '')
      return { name, title: /^# (.*)$/m.exec(text)?.[1] ?? name, html: await partOf(path, name, text) }
    }),
  )
  const titles = parts.map(({ name, title }) => `<li><a href="#${name}">${title.replaceAll('`', '')}</a></li>`)
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>local-v1: documentation</title>
    <link rel="icon" href="icon.svg">
    <script src="first-paint.js"></script>
    <link rel="stylesheet" href="style.css">
  </head>
  <body class="docs">
    <a class="skip" href="#content">Skip to the content</a>
    <header><a href="./">Playground</a></header>
    <nav aria-label="On this page"><ul>${titles.join('')}</ul></nav>
    <main id="content" tabindex="-1">
${parts.map(({ name, html }) => `<section id="${name}">\n${html}</section>`).join('\n')}
    </main>
  </body>
</html>
`
}

async function partOf(path: string, part: string, text: string): Promise<string> {
  const marked = new Marked({
    walkTokens(token: Token) {
      // What runs a block stands behind its language.
      if (token.type === 'code') token.lang = (token as Tokens.Code).lang?.split(' ')[0]
    },
    renderer: {
      heading({ tokens, depth, text }) {
        const id = depth === 1 ? '' : ` id="${part}-${slugOf(text)}"`
        return `<h${depth}${id}>${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens)
        const there = addressOf(href, path, part)
        return there === undefined ? words : `<a href="${there.replaceAll('&', '&amp;')}">${words}</a>`
      },
      code({ text, lang = '' }) {
        return `<pre tabindex="0"><code data-language="${lang}">${escaped(text)}</code></pre>\n`
      },
      table(token) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map(({ tokens }) => cell(this.parser.parseInline(tokens), tag)).join('')}</tr>`
        const rows = token.rows.map((cells) => row(cells, 'td'))
        return `<div class="wide" tabindex="0" role="group" aria-label="Table"><table><thead>${row(token.header, 'th')}</thead><tbody>${rows.join('')}</tbody></table></div>\n`
      },
      html: ({ text }) => (/^<br>$/.test(text) ? text : ''),
    },
  })
  return await marked.parse(text)
}

/** An empty corner is no header. */
const cell = (content: string, tag: string): string =>
  tag === 'th' && content !== '' ? `<th scope="col">${content}</th>` : `<td>${content}</td>`

/** Where a link of a file in the repository leads from here; undefined: nowhere. */
function addressOf(href: string, path: string, part: string): string | undefined {
  if (/^https?:/.test(href)) return href
  const [file = '', heading] = href.split('#')
  const to = file === '' ? path : posix.join(posix.dirname(path), file)
  const name = file === '' ? part : PARTS.get(to)
  if (name === undefined) return undefined
  return heading === undefined ? `#${name}` : `#${name}-${heading}`
}

/** As the documentation's site names its headings. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
