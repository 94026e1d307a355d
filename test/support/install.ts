/** Run in a page: what an application does in its first line. */
import { install } from '../../adapters/service-worker/index.js'

export interface InstallInPage {
  readonly install: typeof install
}

Object.assign(window, { install } satisfies InstallInPage)
