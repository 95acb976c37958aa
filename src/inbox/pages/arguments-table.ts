/**
 * The arguments of a call beside the schema that they were checked against. Invariant: each argument that was given has a row, whatever the
 * schema says; a value that is cut says so, and the whole stands below.
 */
import { html, NOTHING, type Html } from './template';

const LONGEST = 300;
/** Keywords of JSON Schema that say in a word what a value may be, with how they are said. */
const WORDS: Readonly<Record<string, (value: unknown) => string>> = {
  type: (value) => (Array.isArray(value) ? value.join(' or ') : String(value)),
  const: (value) => `exactly ${shown(value)}`,
  enum: (value) => `one of ${Array.isArray(value) ? value.map(shown).join(', ') : shown(value)}`,
  format: String,
  pattern: (value) => `like ${String(value)}`,
  minimum: (value) => `${String(value)} or more`,
  exclusiveMinimum: (value) => `more than ${String(value)}`,
  maximum: (value) => `${String(value)} or less`,
  exclusiveMaximum: (value) => `less than ${String(value)}`,
  minLength: (value) => `${String(value)} characters or more`,
  maxLength: (value) => `${String(value)} characters or less`,
  description: String,
};

/** Nothing where the schema is not of an object: the arguments stand by themselves then. */
export function argumentsTable(schema: unknown, args: unknown, ordinal: number): Html {
  if (!isObject(schema) || !isObject(schema['properties']) || !isObject(args)) return NOTHING;
  const { properties } = schema;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const optional = (name: string): number => Number(!required.includes(name));
  const names = [...new Set([...Object.keys(properties), ...Object.keys(args)])].sort(
    (a, b) => optional(a) - optional(b),
  );
  return html`<table class="items story arguments">
    <caption id="arguments-${ordinal}">
      Its arguments, and the schema that they were checked against when it was called
    </caption>
    <thead>
      <tr>
        <th scope="col">Argument</th>
        <th scope="col">Given</th>
        <th scope="col">Schema</th>
      </tr>
    </thead>
    <tbody>
      ${names.map((name) => row(name, properties, args, required.includes(name)))}
    </tbody>
  </table>`;
}

function row(name: string, properties: Fields, args: Fields, isRequired: boolean): Html {
  const given = Object.hasOwn(args, name);
  const says = Object.hasOwn(properties, name)
    ? [isRequired ? 'required' : 'optional', ...wordsOf(properties[name])].join('; ')
    : null;
  return html`<tr>
    <th scope="row"><code>${name}</code></th>
    <td data-label="Given">
      ${given ? html`<code>${cut(shown(args[name]))}</code>` : isRequired ? html`<strong>missing</strong>` : 'nothing'}
    </td>
    <td data-label="Schema">${says ?? html`<strong>not in the schema</strong>`}</td>
  </tr>`;
}

function wordsOf(schema: unknown): readonly string[] {
  if (!isObject(schema)) return [];
  return Object.entries(WORDS).flatMap(([keyword, words]) => {
    const value = schema[keyword];
    // What a whole number can be at all is not worth a word.
    return value === undefined || Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? [] : [words(value)];
  });
}

const shown = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
const cut = (text: string): string => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} … (cut)`);

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
