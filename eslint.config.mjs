// Lint rules, above all the import arrows of docs/architecture.md: rules <- ports <- activities, adapters <- porch.
// What a room may import is this table; test/tooling/arrows.test.ts shows that each line of it refuses.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import tseslint from 'typescript-eslint';
import { importX } from 'eslint-plugin-import-x';

const root = path.dirname(fileURLToPath(import.meta.url));

/** What workflows and activities say to each other: wire types and names. */
const CONTRACTS = ['contract', 'launch-contract', 'session-contract', 'tool-contract', 'verification-contract'].map(
  (name) => `activities/${name}.ts`,
);

/** `inside`: what of src/ a room may import. `packages`: a pattern of the packages that it may import. */
const ROOMS = [
  {
    room: 'src/rules',
    inside: ['rules'],
    packages: '@noble/',
    says: 'Rules are pure: they import only rules.',
    pure: true,
  },
  { room: 'src/ports.ts', inside: ['rules'], packages: '$^', says: "Ports import only rules' types." },
  {
    room: 'src/workflows',
    inside: ['rules', 'workflows', ...CONTRACTS],
    packages: '@temporalio/(workflow|common)$',
    says: 'Workflows import rules and the contract of activities, and run in the sandbox.',
    pure: true,
  },
  {
    room: 'src/workflow.ts',
    inside: ['rules', 'workflows', ...CONTRACTS],
    packages: '$^',
    says: "The entry for users' workflows goes into their bundle: it exports only what the sandbox can run.",
    pure: true,
  },
  {
    room: 'src/activities',
    inside: ['rules', 'ports.ts', 'activities'],
    packages: 'node:|@temporalio/(activity|common)$',
    says: 'Activities import rules and ports; they touch the world through ports.',
  },
  {
    room: 'src/adapters',
    inside: ['rules', 'ports.ts', 'adapters'],
    packages: '(?!@temporalio/)',
    says: 'Adapters import rules, ports and their own client library, never Temporal.',
  },
  {
    room: 'src/inbox/browser',
    inside: ['rules', 'verify', 'inbox/browser', 'inbox/pages/words.ts'],
    packages: '$^',
    says: 'What runs in browsers imports rules and the verifier, and nothing of Node.',
  },
];

const DEEP_IMPORTS = { group: ['@temporalio/*/src/*', '@temporalio/*/lib/*'], message: 'Use the public entry.' };

const roomRules = ROOMS.map(({ room, packages, says, pure }) => ({
  files: [room.endsWith('.ts') ? room : `${room}/**/*.ts`],
  rules: {
    'no-restricted-imports': [
      'error',
      { patterns: [DEEP_IMPORTS, { regex: `^(?!\\.{1,2}(/|$)|${packages})`, message: says }] },
    ],
    ...(pure ? { 'no-restricted-syntax': ['error', { selector: 'ImportExpression', message: says }] } : {}),
  },
}));

const arrows = [
  ...ROOMS.map(({ room, inside, says }) => ({
    target: `./${room}`,
    from: './src',
    except: inside.map((name) => `./${name}`),
    message: says,
  })),
  { target: './src', from: './', except: ['./src', './node_modules'], message: 'What is published imports only src.' },
];

export default tseslint.config(
  { ignores: ['lib/', 'coverage/', 'node_modules/', '.cache/', 'test/vectors/', 'test/histories/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.mts'],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    settings: {
      'import-x/extensions': ['.ts'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] }, // no-cycle reads the files that are imported, too
      'import-x/resolver': { node: { extensions: ['.ts', '.js'] } },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'import-x/no-cycle': 'error',
      'import-x/no-restricted-paths': ['error', { basePath: root, zones: arrows }],
      'no-restricted-imports': ['error', { patterns: [DEEP_IMPORTS] }],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'error', 'max-lines': ['error', { max: 350 }] },
  },
  ...roomRules,
  {
    files: ['src/rules/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['Date', 'process', 'Buffer', 'setTimeout', 'crypto', 'performance', 'fetch', 'globalThis', 'console'],
      ],
      'no-restricted-properties': ['error', { object: 'Math', property: 'random' }],
    },
  },
);
