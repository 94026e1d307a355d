import OpenAI from 'openai'
import { formsOf } from './openai-forms.mjs'

export const forms = formsOf(OpenAI)
