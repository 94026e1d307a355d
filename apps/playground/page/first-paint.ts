// A script of its own, which the page waits for: what its very first sight depends on.
import { markEmbedded } from './embed.js'
import { showTheme } from './theme.js'

showTheme()
markEmbedded()
