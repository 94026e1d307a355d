import { jsonAnswer, type Route } from './service.js'

/** For probes: the service is there and takes requests. It says nothing of its models, because it asks for no key. */
export const health: Route = () => jsonAnswer({ status: 'ok' })
