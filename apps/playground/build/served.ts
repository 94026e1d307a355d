// Part of `npm run build`: the page that the command line carries.
import { fileURLToPath } from 'node:url'
import { buildServedPage } from './build.js'

await buildServedPage(fileURLToPath(new URL('../../../dist/playground', import.meta.url)))
