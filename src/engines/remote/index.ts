export { type MessageTarget, type Port, portOf } from './port.js'
export { type Far, RemoteEngine, type RemoteOptions } from './remote-engine.js'
export { serveEngine } from './serve.js'
