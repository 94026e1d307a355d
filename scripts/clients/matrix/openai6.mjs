import OpenAI from 'openai6'
import { formsOf } from './openai-forms.mjs'

export const forms = formsOf(OpenAI)
