import { Template } from '@huggingface/jinja'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import { ChatText } from '../chat-text.js'
import { call } from '../testing/call.test-helper.js'
import { smallTokenizer } from '../testing/small-tokenizer.test-helper.js'
import { FueledTemplate } from './fueled.js'
import { withoutRaw } from './python-source.js'
import { JinjaTemplate } from './template.js'

const messages = [{ role: 'user', content: 'Hello' }]
const input = { messages, tools: [], options: {} }
const LONG = "{% set t = 'a' * 1000000 %}"
const ALMOST = "{% set a = 'b' ~ 'a' * 50000 %}{% set b = 'a' * 1000000 %}"
const MAPPING = `{% set d = {${Array.from({ length: 4000 }, (_, i) => `'${i}':1`).join()}} %}`
const grow = (step: string) => `{% set ns = namespace(x=['ab'], t='ab') %}${step.repeat(40)}`

describe('a template from a stranger', () => {
  it.each([
    ['a long range', '{% for i in range(1000000000) %}{% endfor %}'],
    ['a range down', '{% for i in range(0, -1000000000, -1) %}{% endfor %}'],
    ['ranges of fractions', '{{ range(0, 1, 0.000000001) | length }}'],
    ['nested loops without a body', `${'{% for i in range(1000) %}'.repeat(6)}${'{% endfor %}'.repeat(6)}`],
    ['nested loops with one', `${'{% for i in range(1000) %}'.repeat(4)}x${'{% endfor %}'.repeat(4)}`],
    [
      'loops over a filtered list',
      `{% for i in range(2000) if i %}{% for j in range(2000) if j %}{% endfor %}{% endfor %}`,
    ],
    ['a macro that calls itself', '{% macro m(x) %}{{ m(x) }}{{ m(x) }}{% endmacro %}{{ m(1) }}'],
    ['a text that doubles', `${grow('{% set ns.t = ns.t + ns.t %}')}{{ ns.t }}`],
    ['a text that doubles with ~', `${grow('{% set ns.t = ns.t ~ ns.t %}')}{{ ns.t }}`],
    ['a list that doubles', `${grow('{% set ns.x = ns.x + ns.x %}')}{{ ns.x | length }}`],
    ['a list that holds itself twice, printed', `${grow('{% set ns.x = [ns.x, ns.x] %}')}{{ ns.x }}`],
    ['the same as JSON', `${grow('{% set ns.x = [ns.x, ns.x] %}')}{{ ns.x | tojson }}`],
    ['the same beside a text', `${grow('{% set ns.x = [ns.x, ns.x] %}')}{{ ns.x ~ 'a' }}`],
    ['the same joined', `${grow('{% set ns.x = [ns.x, ns.x] %}')}{{ ns.x | join(',') }}`],
    ['a replacement between any two signs', `${grow("{% set ns.t = ns.t.replace('', ns.t) %}")}`],
    ['the same as a filter', `${grow("{% set ns.t = ns.t | replace('', ns.t) %}")}`],
    ['a text that joins itself', `${grow('{% set ns.t = ns.t.join([ns.t, ns.t, ns.t]) %}')}{{ ns.t }}`],
    [
      'each compared with each',
      `${'{% for i in range(100) %}'.repeat(2)}{{ range(2000) | unique | length }}${'{% endfor %}'.repeat(2)}`,
    ],
    ['a list that holds itself, printed', '{% set x = [1] %}{% set _ = x.append(x) %}{{ x }}'],
    ['the same as JSON, within itself', '{% set x = [1] %}{% set _ = x.append(x) %}{{ x | tojson }}'],
    [
      'two that hold themselves, compared',
      '{% set x = [1] %}{% set _ = x.append(x) %}{% set y = [1] %}{% set _ = y.append(y) %}{{ x == y }}',
    ],
    [
      'two that double, compared',
      `{% set ns = namespace(x=['a'], y=['a']) %}${'{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}'.repeat(40)}{{ ns.x == ns.y }}`,
    ],
    ['a loop through the signs of a text', "{% for c in 'a' * 2000000 %}{% endfor %}"],
    ['signs as a list', "{{ ('a' * 2000000) | list | length }}"],
    ['a text backwards, again and again', `${LONG}${'{% set y = t[::-1] %}'.repeat(99)}`],
    ['signs that become themselves', `${LONG}${"{% set y = t | replace('', '') %}".repeat(99)}`],
    ['one that is in another almost everywhere', `${ALMOST}{{ a in b }}`],
    ['the same, found', `${ALMOST}{{ b.find(a) }}`],
    ['the same, split', `${ALMOST}{{ b.split(a) }}`],
    ['the same, replaced', `${ALMOST}{{ b | replace(a, 'c') }}`],
    ['many that are looked for in one', `${LONG}{{ range(9000) | map('string') | select('in', t) | list }}`],
    ['a join by an attribute', `${LONG}{{ range(100) | join(attribute='x', d=t) | length }}`],
    ['JSON with much between', `${LONG}{{ range(100) | list | tojson(separators=(t, t)) | length }}`],
    [
      'JSON that stands deep',
      `${grow('{% set ns.x = [ns.x] %}'.repeat(8)).replace("['ab']", 'range(20000) | list')}{{ ns.x | tojson(indent=64) }}`,
    ],
    ['an indent that is unpacked', "{{ 'a\\n' | indent(*[100000000]) }}"],
    ['an indent of JSON that is unpacked', "{{ [1] | tojson(**{'indent': 100000000}) }}"],
    ['a long text within a list, printed', `${LONG}${'{% set y = [t] ~ 1 %}'.repeat(9)}`],
    ['JSON as ASCII', `${LONG}${'{% set y = t | tojson(ensure_ascii=true) %}'.repeat(9)}`],
    [
      'long texts, sorted',
      `${LONG}{% set x = [] %}{% for i in range(90) %}{% set _ = x.append(t ~ i) %}{% endfor %}{{ x | sort | length }}`,
    ],
    [
      'a macro that is made in each round',
      `{% for i in range(9000) %}{% macro m() %}${'{{ a }}'.repeat(500)}{% endmacro %}{% endfor %}`,
    ],
    [
      'a loop within a macro',
      '{% macro m() %}{% for i in range(300) %}{% for j in range(300) %}{{ i * j }}{% endfor %}{% endfor %}{% endmacro %}{{ m() }}',
    ],
    [
      'names that are not there',
      '{% macro m() %}{% for i in range(9000) %}{{ a }}{{ b }}{% endfor %}{% endmacro %}{{ m() }}',
    ],
    ['views of a mapping', `${MAPPING}{% for i in range(9000) %}{% set y = d.items() %}{% endfor %}`],
    ['the first of a mapping', `${MAPPING}{% for i in range(9000) %}{% set y = d | first %}{% endfor %}`],
    [
      'a refusal, and no end of what is tried instead',
      "{% if messages[0].tool_calls is defined %}{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}{% endif %}{{ raise_exception('no') }}",
    ],
    ['a long indent', "{{ 'a' | indent(1000000000) }}"],
    ['a long indent by its name', "{{ 'a\\nb' | indent(width=1000000000) }}"],
    ['a long indent of JSON', "{{ {'a': 1} | tojson(indent=100000000) }}"],
  ])('is stopped, with an error that says so: %s', (_, source) => {
    const template = new JinjaTemplate(source, {})
    let refused: unknown
    try {
      template.render(input)
    } catch (error) {
      refused = error
    }
    expect(V1Error.is(refused) && refused.code).toBe('model_files')
    expect(String(refused)).toMatch(/chat template .*stopped/)
  })

  it.each([
    ['what is merely looked at', '{{ 1 }}', true],
    ['an empty loop', '{% for j in [1] %}{% endfor %}', false],
    ['a loop that is left', '{% for j in [1] %}{% break %}{% endfor %}', false],
    ['a name that is not there', '{{ x }}', false],
    ['a filter of a text', "{{ 'a' | trim }}", false],
    ['one of a number', '{{ 1 | int }}', false],
    ['one with arguments', "{{ 'a' | replace('a', 'b') }}", false],
    ['a method', "{{ 'a'.upper() }}", false],
    ['a mapping', '{{ dict(a=1, b=2) }}', false],
    ['a time', "{{ strftime_now('%Y') }}", false],
  ])('pays for what a statement makes, however little goes in: %s', (_, statement, isCheap) => {
    const source = `{% macro m() %}{% for i in range(350) %}${statement.repeat(8)}{% endfor %}{% endmacro %}{{ m() }}`
    const render = () => new FueledTemplate(source).render({ messages })
    if (isCheap) expect(render).not.toThrow()
    else expect(render).toThrow('too many steps at once')
  })

  it.each([
    ['blanks', ' '.repeat(5_000_000), /characters/],
    ['blanks that are fewer', ' '.repeat(50_000), /blanks/],
    ['line ends', '\n'.repeat(50_000), /blanks/],
    ['parentheses', `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`, /./],
    ['conditions', '{% if a %}'.repeat(10_000), /./],
    ['not after not', `{{ ${'not '.repeat(30_000)}a }}`, /./],
  ])('is refused where there is no end of its %s', (_, source, why) => {
    expect(() => new JinjaTemplate(source, {}).render(input)).toThrow(why)
  })

  it.each([
    ['includes', "{% include 'chat_template.jinja' %}"],
    ['imports', "{% import 'os' as os %}{{ os.system('id') }}"],
    ['extends', "{% extends 'base' %}"],
    ['calls what texts are made by', "{{ ''.constructor.constructor('return process')() }}"],
    ['goes up from a class', "{{ ''.__class__.__mro__[1].__subclasses__() }}"],
    ['filters by an inherited name', "{{ 'a' | constructor }}"],
    ['tests by an inherited name', "{{ 'a' is constructor }}"],
    ['refuses in a million words', "{{ raise_exception('no' * 1000000) }}"],
    ['fills to a width', "{{ 'a'.ljust(1000000000) }}"],
    ['formats to a width', "{{ '%1000000000d' | format(1) }}"],
  ])('is refused in few words where it %s', (_, source) => {
    let refused: unknown
    try {
      new JinjaTemplate(source, {}).render(input)
    } catch (error) {
      refused = error
    }
    expect(String(refused)).toMatch(/^(V1Error: The model's chat template refuses|SyntaxError|Error: )/)
    expect(String(refused).length).toBeLessThan(2000)
  })

  it('finds no more than it is given', () => {
    const text = new JinjaTemplate(
      '{{ constructor }}{{ __proto__ }}{{ toString }}{{ [].constructor }}{{ messages.__proto__ }}{{ messages[0].constructor }}',
      {},
    ).render(input)
    expect(text).toBe('')
  })

  it('is found out about no further once it had to be stopped', () => {
    const render = vi.spyOn(FueledTemplate.prototype, 'renderInSlices')
    onTestFinished(() => render.mockRestore())
    const source = '{% for i in range(100000) %}{% for j in range(100000) %}{{ tool_calls }}{% endfor %}{% endfor %}'
    expect(() => new JinjaTemplate(source, {}).render(input)).toThrow('stopped')
    expect(render.mock.calls.length).toBeLessThanOrEqual(2)
    const text = new ChatText({ ...smallTokenizer(), chatTemplate: source })
    expect(render.mock.calls.length).toBeLessThanOrEqual(2)
    expect(() => text.prompt(call())).toThrow('stopped')
  })

  it('is read once where raw texts have no end', () => {
    const source = `{% raw %}{{ a }}{% endraw %}${'{%raw%}'.repeat(9000)}`
    expect(withoutRaw(source)).toBe(`{{ "\\u007b\\u007b a \\u007d\\u007d" }}${'{%raw%}'.repeat(9000)}`)
  })

  it('has enough for long conversations, whatever it looks for in them', () => {
    const source = `{% set ns = namespace(last=0) %}{% for m in messages[::-1] %}{% if m.role == 'user' and ns.last == 0 %}{% set ns.last = loop.index %}{% endif %}{% endfor %}
{% for m in messages %}{% if '</think>' in m.content %}{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% else %}<|{{ m.role }}|>{{ m.content | trim }}{{ messages[loop.index0].role }}{% endif %}{% endfor %}`
    const many = Array.from({ length: 5000 }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user',
      content: `${i} `.repeat(20),
    }))
    const given = { messages: many, add_generation_prompt: true }
    expect(new FueledTemplate(source).render(given)).toBe(new Template(source).render(given))
  })
})

describe('as in Python', () => {
  const text = (source: string, values: Record<string, unknown> = {}) => new FueledTemplate(source).render(values)

  it.each(['{{ [].pop() }}', '{{ [1].pop(1) }}', '{{ [1].pop(-2) }}'])(
    'nothing is taken from where nothing is: %s',
    (source) => {
      expect(() => text(source)).toThrow('pop index out of range')
    },
  )

  it.each(['{{ dict([1]) }}', '{{ dict([(1, 2, 3)]) }}', "{{ dict('ab') }}", '{{ dict(none) }}'])(
    'no mapping is made of what is no pairs: %s',
    (source) => {
      expect(() => text(source)).toThrow(/dict\(\) takes/)
    },
  )

  // Each as Python's jinja2 3.1 prints it.
  it.each([
    ["{{ ['city'] }}", "['city']"],
    ["{{ ['it\\'s', 'a\"b', \"'\\\"\"] }}", `["it's", 'a"b', '\\'"']`],
    ["{{ {'a': none, 'b': [true, false], 'c': 1.0} }}", "{'a': None, 'b': [True, False], 'c': 1.0}"],
    ['{{ required }}', "['city', 'unit']"],
    ["{{ 'needs ' ~ required }}", "needs ['city', 'unit']"],
    ["{{ 'needs ' + required | string }}", "needs ['city', 'unit']"],
    ['{{ (1, 2) }}', '(1, 2)'],
    ['{% set x = [1, 2, 3, 4] %}{{ x.pop() }}{{ x.pop(0) }}{{ x.pop(-2) }}{{ x }}', '412[3]'],
    ['{{ true }} {{ 1 == 2 }}', 'True False'],
    ['{{ line }}', `['a\\nb\\t\\x00é\\u200b']`],
    ['{{ required | tojson }}', '["city", "unit"]'],
    ["{{ required | join(', ') }}", 'city, unit'],
    ['[{{ gone | trim }}{{ gone | length }}{{ gone | upper }}{{ gone ~ none }}]', '[0None]'],
    ["{{ none | selectattr('a') | list }}{% for x in gone %}x{% endfor %}{{ none | string }}", '[]None'],
    [
      "{{ {1: 'a', 20: 'b'}[20] }}{% for k, v in {20: 'b', 3: 'a'} | dictsort %}{{ k + 1 }}{{ v }}{% endfor %}",
      'b4a21b',
    ],
    ["{% for a, b in [(1, 2), ('x', 'y')] %}{{ a }}{{ b }}{% endfor %}", '12xy'],
    ["{% for sign in 'ab' %}{{ sign }}-{% endfor %}{{ '-' * 3 }}", 'a-b----'],
    ["{{ [{'a': 1}, {'a': 2}] | selectattr('a', 'equalto', 2) | map(attribute='a') | list }}", '[2]'],
    [
      "{{ '\n a \n'.strip('\n') }}|{{ 'xyx'.rstrip('x') }}|{{ 'aBC'.capitalize() }}|{{ '%s!' | format('a') }}",
      ' a |xy|Abc|a!',
    ],
    [
      "{{ 1 == '1' }}{{ [1] == [1.0] }}{{ gone == none }}{{ [1] in [[1]] }}{{ {'a': 1} is iterable }}",
      'FalseTrueFalseTrueTrue',
    ],
    [
      "{{ {'items': {'type': 'string'}}['items'].type }}{{ {'items': 1}.items() | map('first') | list }}",
      "string['items']",
    ],
    [
      '{% raw %}{{ x }}{% endraw %}{% set x = 1 %}{% for i in [1, 2] %}{% if loop.first %}{% set x = 2 %}{% endif %}{{ x }}{% endfor %}',
      '{{ x }}21',
    ],
    ["{{ {'a': 1}[gone] is defined }}{{ [1][none] is defined }}{{ 'ab'[[0]] is defined }}", 'FalseFalseFalse'],
    ["{% if true %}\r\na\r{{ 'b\r\nc' }}\r\n{% endif %}", 'a\nb\nc\n'],
    ["{{ dict(a=1, b='x') }}{{ dict({'a': 1}, a=2, c=dict()) | tojson }}", `{'a': 1, 'b': 'x'}{"a": 2, "c": {}}`],
    ["{{ dict([('a', 1), ['b', 2]]) }}", "{'a': 1, 'b': 2}"],
    ["{{ 'é😀' | length }}{{ gone is iterable }}{{ true is number }}{{ true is integer }}", '2TrueTrueFalse'],
  ])('%s', (source, expected) => {
    expect(text(source, { required: ['city', 'unit'], line: ['a\nb\t\0é\u200b'] })).toBe(expected)
  })
})
