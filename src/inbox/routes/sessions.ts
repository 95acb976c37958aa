/** The pages of sessions. Invariant: they are read from the journal; nothing is changed here, and no content is in them. */
import type { Service } from '../../cli/service';
import type { Store } from '../../ports';
import { isSessionName, sessionRunId } from '../../rules/invocations/names';
import { runEntriesText } from '../entries';
import type { LiveOptions } from '../live';
import { sessionsOf } from '../listings';
import { Looks } from '../looks';
import { listingPage } from '../pages/listing-page';
import { sessionPage } from '../pages/session-page';
import type { App, Reception } from '../reception';
import { SessionLogs, type SessionLook } from '../session-look';
import type { OpenPages } from '../tell';

export interface StoryRoutes {
  readonly service: Service;
  readonly journal: Store;
  readonly pages: OpenPages;
  readonly live: LiveOptions;
  /** How long a page waits for an answer before it shows what is known. */
  readonly patienceMs: number;
}

export function addSessions(
  app: App,
  reception: Reception,
  { service, journal, pages, live, patienceMs }: StoryRoutes,
): void {
  const logs = new SessionLogs(journal);
  const looks = new Looks<SessionLook>((session, before) => logs.look(session, before), live);

  app.get('/sessions', async (c) => {
    const { namespace } = service.client.options;
    return reception.show(c, listingPage('Sessions', await sessionsOf(service), namespace));
  });

  app.use('/sessions/:session/*', async (c, next) => {
    if (!isSessionName(c.req.param('session'))) return c.notFound();
    return next();
  });

  app.get('/sessions/:session', async (c) => {
    const seen = await looks.of(c.req.param('session')).look(patienceMs);
    const { value } = seen;
    return value === null ? c.notFound() : reception.show(c, sessionPage({ ...seen, value }));
  });

  app.get('/sessions/:session/live', (c) =>
    pages.tell(c, looks.of(c.req.param('session')), ({ value, fault }) =>
      JSON.stringify([value?.head, fault, c.var.reviewer === null]),
    ),
  );

  app.get('/sessions/:session/entries', async (c) => {
    const text = await runEntriesText(journal, sessionRunId(c.req.param('session')));
    return c.body(text, 200, { 'content-type': 'application/json' });
  });
}
