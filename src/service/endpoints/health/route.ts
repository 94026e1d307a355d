import { jsonResponse, type Route } from '../../answer/service.js'

/** Said when the package is built. */
declare const __VERSION__: string | undefined

/** For probes: the service is there and takes requests. It says nothing of its models, because it asks for no key. */
export const health: Route = () => jsonResponse({ status: 'ok' })

export const tellMetrics: Route = ({ metrics, admission, constraints }) => ({
  status: 200,
  body: metrics!.text(admission, constraints.kept),
  headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
})

/** What answers here, as vLLM tells it. */
export const tellVersion: Route = () =>
  jsonResponse({ version: typeof __VERSION__ === 'undefined' ? 'development' : __VERSION__ })

/** How many requests run or wait, as vLLM tells it. */
export const tellLoad: Route = ({ admission }) => jsonResponse({ server_load: admission.running + admission.waiting })
