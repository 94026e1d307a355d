import Anthropic from '@anthropic-ai/sdk'
import { formsOf } from './anthropic-forms.mjs'

export const forms = formsOf(Anthropic)
