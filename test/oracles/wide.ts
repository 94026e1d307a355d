/** Imported before the cases, which are made when they are imported. */
import process from 'node:process'

process.env.MODELS_WIDE = '1'
