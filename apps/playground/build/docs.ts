// Part of building the documentation: the playground beside its pages, and the archive of the source that they link to.
import { fileURLToPath } from 'node:url'
import { SOURCE_ARCHIVE, writeSource } from '../../../scripts/source.js'
import { buildPlayground } from './build.js'

const dist = new URL('../../../docs/.vitepress/dist/', import.meta.url)
const site = process.env.SITE?.replace(/\/?$/, '/playground/')
await writeSource(fileURLToPath(new URL(SOURCE_ARCHIVE, dist)))
await buildPlayground({
  ...(site !== undefined && { site }),
  out: fileURLToPath(new URL('playground', dist)),
  links: { docs: '../index.html', install: '../start/node.html', source: `../${SOURCE_ARCHIVE}` },
})
