/** The worker that comes with the package. */
import { serveWebGpu } from './serve.js'

serveWebGpu()
