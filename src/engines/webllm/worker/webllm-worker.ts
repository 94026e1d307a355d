/** The worker that comes with the package. */
import { serve } from './serve.js'

serve()
