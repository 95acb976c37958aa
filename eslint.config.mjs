// Lint rules, above all the import arrows of docs/architecture.md: rules <- ports <- activities, adapters <- porch.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import tseslint from 'typescript-eslint';
import { importX } from 'eslint-plugin-import-x';

const root = path.dirname(fileURLToPath(import.meta.url));
const arrow = (target, from, message, except) => ({ target, from, message, ...(except ? { except } : {}) });

export default tseslint.config(
  { ignores: ['lib/', 'coverage/', 'node_modules/', '.cache/', 'test/vectors/', 'test/histories/'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.mts'],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    settings: { 'import-x/resolver': { node: { extensions: ['.ts', '.js'] } } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'import-x/no-cycle': 'error',
      'no-restricted-imports': [
        'error',
        { patterns: [{ group: ['@temporalio/*/src/*', '@temporalio/*/lib/*'], message: 'Use the public entry.' }] },
      ],
      'import-x/no-restricted-paths': [
        'error',
        {
          basePath: root,
          zones: [
            arrow('./src/rules', './src', 'Rules import only rules.', ['./rules']),
            arrow('./src/ports.ts', './src', "Ports import only rules' types.", ['./rules']),
            arrow('./src/workflows', './src', 'Workflows import rules and types of activities.', [
              './rules',
              './workflows',
              './activities/contract.ts',
            ]),
            arrow('./src/activities', './src', 'Activities import rules and ports.', [
              './rules',
              './ports.ts',
              './activities',
            ]),
            arrow('./src/adapters', './src', 'Adapters import rules, ports and their own client library.', [
              './rules',
              './ports.ts',
              './adapters',
            ]),
          ],
        },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'error', 'max-lines': ['error', { max: 350 }] },
  },
  {
    // Pure rules run in the workflow sandbox, in Node and in a browser: no Node, no Temporal, no clock.
    files: ['src/rules/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ group: ['node:*', '@temporalio/*', 'fs', 'path', 'crypto'], message: 'Rules are pure.' }] },
      ],
      'no-restricted-globals': ['error', 'Date', 'process', 'Buffer', 'setTimeout', 'crypto', 'performance', 'fetch'],
      'no-restricted-properties': ['error', { object: 'Math', property: 'random' }],
    },
  },
);
