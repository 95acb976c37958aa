import { defineConfig } from 'vitest/config';

/** Kills whole processes again and again and waits for what follows within a lease or a time that people see: it wants the machine. */
const ALONE = [
  'test/journeys/**/*.test.ts',
  'test/inbox/{chromium,kills,reach}.test.ts',
  'test/sessions/{renewals,resets}.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: ['test/support/temporal-server.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    projects: [
      {
        extends: true,
        test: {
          name: 'side by side',
          include: ['test/**/*.test.ts'],
          exclude: ALONE,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
