/** The catalog as the table of docs/guides/models.md: `npx tsx scripts/model-guide.ts` prints it. */
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { CATALOG, type CatalogModel } from '../src/models/catalog.js'

const size = (bytes: number) => (bytes < 995e6 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`)

function row({
  from,
  name,
  about,
  format,
  downloadBytes,
  memoryBytes,
  trainedContext,
  ...model
}: CatalogModel): string {
  const can = [model.tools !== undefined && `tools (${model.tools})`, model.thinks && 'thinks']
  const cells = [
    `**${name}**: ${about}<br>\`${from}\``,
    `${size(downloadBytes)}, ${format}`,
    size(memoryBytes),
    trainedContext.toLocaleString('en'),
    can.filter(Boolean).join(', '),
    model.licence,
  ]
  return `| ${cells.join(' | ')} |`
}

const HEAD = ['Model', 'Weights', 'Memory', 'Trained for', 'Features', 'Licence']

export const modelGuide = (): string =>
  [`| ${HEAD.join(' | ')} |`, `|${'---|'.repeat(HEAD.length)}`, ...CATALOG.map(row)].join('\n')

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(modelGuide())
