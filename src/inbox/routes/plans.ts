/** The pages of plans, and the answers that are handed over there. Invariant: a content is read only for a reviewer of this moment. */
import { Contents } from '../../activities/contents';
import type { Service } from '../../cli/service';
import type { Store } from '../../ports';
import { callOfPlan } from '../../rules/invocations/call-of-plan';
import { isCallId } from '../../rules/invocations/names';
import { isRunId } from '../../rules/recovery';
import { handOver } from '../answer';
import { shownContents } from '../contents';
import { runEntriesText } from '../entries';
import type { LiveOptions } from '../live';
import { Looks } from '../looks';
import { messagePage } from '../pages/layout';
import { planPage } from '../pages/plan-page';
import { lookAt, type PlanLook } from '../plan-look';
import { fieldOf, wantsJson, type App, type Reception } from '../reception';
import type { OpenPages } from '../tell';

export interface PlanRoutes {
  readonly service: Service;
  readonly journal: Store | null;
  readonly contents: Store | null;
  readonly pages: OpenPages;
  readonly live: LiveOptions;
  /** How long a page waits for an answer before it shows what is known. */
  readonly patienceMs: number;
  /** Called when an answer was taken. */
  readonly answered: () => void;
}

export function addPlans(app: App, reception: Reception, options: PlanRoutes): void {
  const { service, journal, pages, patienceMs } = options;
  const contents = options.contents === null ? null : new Contents(options.contents);
  const looks = new Looks<PlanLook>((runId, before) => lookAt(service, journal, runId, before), options.live);

  app.use('/runs/:run/*', async (c, next) => {
    if (!isRunId(c.req.param('run'))) return c.notFound();
    return next();
  });

  app.get('/runs/:run', async (c) => {
    const seen = await looks.of(c.req.param('run')).look(patienceMs);
    const { value } = seen;
    if (value === null) return c.notFound();
    const shown = await shownContents(contents, value.plan, c.var.reviewer);
    // The page of a session knows which call of it leads here, also when no execution says so any more.
    const said = c.req.query('call');
    const call = value.call ?? callOfPlan(value.plan, isCallId(said) ? said : null);
    return reception.show(c, planPage({ ...seen, value: { ...value, call } }, reception.viewer(c), shown));
  });

  app.get('/runs/:run/live', (c) =>
    pages.tell(c, looks.of(c.req.param('run')), ({ value, fault }) =>
      JSON.stringify([value, fault, c.var.reviewer === null]),
    ),
  );

  app.get('/runs/:run/entries', async (c) => {
    if (journal === null) return c.notFound();
    return c.body(await runEntriesText(journal, c.req.param('run')), 200, { 'content-type': 'application/json' });
  });

  app.post('/runs/:run/answer', async (c) => {
    const runId = c.req.param('run');
    const back = `/runs/${runId}`;
    try {
      const { state, reason } = await handOver(service, runId, await fieldOf(c, 'head'), await fieldOf(c, 'receipt'));
      looks.of(runId).forget();
      options.answered();
      const message = `Handed over. The plan is ${state}${reason === null ? '' : ` (${reason})`}.`;
      return wantsJson(c)
        ? c.json({ ok: true, message })
        : reception.show(c, messagePage('Handed over', message, back));
    } catch (fault) {
      return reception.refuse(c, fault, (why) => messagePage('Not taken', why, back));
    }
  });
}
