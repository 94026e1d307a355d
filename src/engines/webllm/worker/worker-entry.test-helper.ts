/** A worker of one's own, over the stand-in for WebLLM. */
import { record, standInLibrary } from '../stand-in.test-helper.js'
import { serve } from './serve.js'

serve({ loader: async () => standInLibrary([record('prebuilt')]).library })
