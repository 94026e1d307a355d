/** The script of the CPU device's threads, for where a policy forbids to start them from a text. */
import { thread } from './thread.js'

thread()
