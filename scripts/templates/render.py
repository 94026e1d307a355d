"""
Renders chat templates as Hugging Face's transformers sets Jinja up (its extensions, filters and globals, from its
documentation): `{ templates: [text], inputs: [variables] }` on the standard input, a list of lists on the standard
output, each `{ text }` or `{ error, raised }` (`raised`: the template itself refused).
"""
import json
import sys
from datetime import datetime

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """`{% generation %}`: what stands between is what the model wrote; it is rendered as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_inner"), [], [], body).set_lineno(line)

    def _inner(self, caller):
        return caller()


class Raised(jinja2.exceptions.TemplateError):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return env


def rendered(source, variables):
    try:
        return {"text": environment().from_string(source).render(**variables)}
    except Raised as error:
        return {"error": str(error), "raised": True}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "raised": False}


asked = json.load(sys.stdin)
json.dump([[rendered(each, variables) for variables in asked["inputs"]] for each in asked["templates"]], sys.stdout)
