/** Where the printed figures stand in a document. */
const BEGIN = '<!-- printed by: npx tsx bench/scaling.ts -->'
const END = '<!-- end -->'

export function withFigures(text: string, figures: string): string {
  const [before, rest] = text.split(BEGIN)
  const after = rest?.split(END)[1]
  if (after === undefined) throw new Error(`There is no place for figures: ${BEGIN} ... ${END}.`)
  return `${before}${BEGIN}\n\n${figures}\n\n${END}${after}`
}
