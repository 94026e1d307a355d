/** The stand-in for WebLLM as a module to import. */
import { record, standInLibrary } from './stand-in.test-helper.js'

export const { MLCEngine, ModelType, prebuiltAppConfig, modelVersion } = standInLibrary([record('listed')]).library
