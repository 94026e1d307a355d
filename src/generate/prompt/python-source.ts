/** Python ends lines in one way, also within texts of a template that was written on Windows. */
export const withLines = (source: string): string => source.replace(/\r\n?/g, '\n')

const RAW = /(^[ \t]*)?\{%([-+]?)\s*raw\s*(-?)%\}([\s\S]*?)\{%([-+]?)\s*endraw\s*([-+]?)%\}(\n?)/gm

const RAW_END = /\{%[-+]?\s*endraw\s*[-+]?%\}\n?/g

/** `{% raw %}`, which the library does not know, as a text that is printed. Blanks go as they do around other blocks. */
export function withoutRaw(source: string): string {
  // Behind the last end there is none to be looked for, again and again.
  let end = 0
  for (const { index, 0: found } of source.matchAll(RAW_END)) end = index + found.length
  return printedRaw(source.slice(0, end)) + source.slice(end)
}

function printedRaw(source: string): string {
  return source.replace(RAW, (_, blank = '', before, from, text: string, to, after, line) => {
    let kept = from === '-' ? text.trimStart() : text
    kept = to === '-' ? kept.trimEnd() : kept
    const printed = JSON.stringify(kept).replaceAll('{', '\\u007b').replaceAll('}', '\\u007d')
    return `${before === '+' ? blank : ''}{{${before === '-' ? '-' : ''} ${printed} ${after === '-' ? '-' : ''}}}${after === '+' ? line : ''}`
  })
}
