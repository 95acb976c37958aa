/** The pages of verification runs and of the rechecks that they owe. Invariant: they are read from the journal; nothing is started here. */
import { Journal } from '../../activities/journal';
import { StoreError } from '../../ports';
import { isRunId } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import { runIdOf } from '../../rules/verification/run';
import type { Obligation } from '../../rules/verification/obligations';
import { runEntriesText } from '../entries';
import { hexOf, owedRechecks } from '../items/verification';
import { checksOf } from '../listings';
import { Looks } from '../looks';
import { listingPage } from '../pages/listing-page';
import { recheckPage } from '../pages/recheck-page';
import { runPage } from '../pages/run-page';
import type { App, Reception } from '../reception';
import { lookAtRun, type RunLook } from '../run-look';
import type { StoryRoutes } from './sessions';

export function addChecks(app: App, reception: Reception, options: StoryRoutes): void {
  const { service, journal, pages, live, patienceMs } = options;
  const looks = new Looks<RunLook>((runId) => lookAtRun(service, journal, runId), live);

  app.get('/checks', async (c) => {
    const { namespace } = service.client.options;
    return reception.show(c, listingPage('Runs of checks', await checksOf(service), namespace));
  });

  app.use('/checks/:run/*', async (c, next) => {
    if (!isRunId(c.req.param('run'))) return c.notFound();
    return next();
  });

  app.get('/checks/:run', async (c) => {
    const seen = await looks.of(c.req.param('run')).look(patienceMs);
    const { value } = seen;
    return value === null ? c.notFound() : reception.show(c, runPage({ ...seen, value }, await owedBy(value)));
  });

  app.get('/checks/:run/live', (c) =>
    pages.tell(c, looks.of(c.req.param('run')), ({ value, fault }) =>
      JSON.stringify([value?.book.head, value?.status, fault, c.var.reviewer === null]),
    ),
  );

  app.get('/checks/:run/entries', async (c) => {
    const text = await runEntriesText(journal, c.req.param('run'));
    return c.body(text, 200, { 'content-type': 'application/json' });
  });

  app.get('/rechecks/:intent', async (c) => {
    const owed = await owedRechecks(new Journal(journal));
    const one = owed.find(({ intentId }) => hexOf(intentId) === c.req.param('intent'));
    return one === undefined ? c.notFound() : reception.show(c, recheckPage(one));
  });

  /** All runs of the journal are read for it, so only for a run of which something was applied. Null: the journal refuses to say. */
  async function owedBy({ book, runId }: RunLook): Promise<readonly Obligation[] | null> {
    if (book.sittings.length === 0) return [];
    try {
      return (await owedRechecks(new Journal(journal))).filter(({ source }) => runIdOf(source.digest) === runId);
    } catch (fault) {
      if (fault instanceof Refusal || fault instanceof StoreError) return null;
      throw fault;
    }
  }
}
