// npm run playground: builds the page, serves it on this machine, says where.
import { join } from 'node:path'
import { SOURCE_ARCHIVE, writeSource } from '../../../scripts/source.js'
import { buildPlayground, knownLinks } from './build.js'
import { servePlayground } from './serve.js'

const port = Number(process.env.PORT ?? 8090)
const hub = process.env.HUB
// Where the source has no address yet, the page has it beside it.
const links = { source: SOURCE_ARCHIVE, ...(await knownLinks()) }
const folder = await buildPlayground({ hub, site: process.env.SITE, links })
if (links.source === SOURCE_ARCHIVE) await writeSource(join(folder, SOURCE_ARCHIVE))
const { url } = await servePlayground(folder, { port, hub }).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error
  console.error(`Port ${port} is taken: PORT=0 npm run playground takes a free one.`)
  process.exit(1)
})
console.log(`local-v1 playground  ${url}`)
