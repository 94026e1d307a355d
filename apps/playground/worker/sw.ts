// The service worker: it leads requests to the worker of a page, and keeps the page for when there is no network.
import { serviceWorker } from 'local-v1/service-worker'
import { servePagesOffline } from './offline.js'

// The models run in pages, whose worker has a script of its own: this one is small, for a first visit waits for it.
serviceWorker({ basePath: '/v1' })
servePagesOffline()
