/** Cases in which an HTTP server, or what stands before it, answers wrongly. Invariant: one request is struck; those after it are seen. */
import type { SinkItem } from '../../../ports';
import type { CaseOf } from '../conformance-case';
import { answerOf, isRead, type Distortion, type Passed, type Passing } from '../http-fault-proxy';
import { commit, judgeLookUp, judgeOnce, judgeSent, until } from '../judge';
import { NotApplicable } from '../promises';
import type { Sent, Stand } from '../stand';

const ofMeaning = (fault: CaseOf['fault'], keeps: string, run: CaseOf['run']): CaseOf => ({
  fault,
  keeps,
  run,
  meaning: true,
});

export const MEANING: readonly CaseOf[] = [
  ofMeaning('status_400', 'nothing was done, and nothing is sent again', status400),
  ofMeaning('status_409', 'is no refusal', (stand) => afterCommit(stand, [409])),
  ofMeaning('status_412', 'is no refusal', (stand) => afterCommit(stand, [412])),
  ofMeaning('status_429', 'is no refusal, and nothing is sent again', status429),
  ofMeaning('status_5xx', 'proves nothing, and nothing is sent again', (stand) =>
    afterCommit(stand, [500, 502, 503, 504]),
  ),
  ofMeaning('redirect', 'is followed by no send', redirect),
  ofMeaning('lookup_error', 'is neither absent nor committed', lookUpError),
  ofMeaning('lookup_gateway', 'is neither absent nor committed', lookUpGateway),
  ofMeaning('lookup_garbage', 'is neither absent nor committed', lookUpGarbage),
  ofMeaning('ignored_filter', 'what others wrote is not this one, and this one is not denied', ignoredFilter),
  ofMeaning('stale_read', 'a look-up reads past caches', staleRead),
];

const SENT_OTHERWISE = 'the adapter did not send as it had sent before';
const RETRY_AFTER_S = 7;
const VISIBLE_MS = 3_000;

/** Most sends until an adapter that greets its server, or has lost it, sends again without a greeting. */
const WARM_WITHIN = 3;

/** What an adapter asks of its server only at first, or again after a fault, is asked before the requests of a send are counted. */
async function warm(stand: Stand): Promise<void> {
  for (let time = 0; time < WARM_WITHIN; time += 1) {
    if ((await stand.distorted(null, () => stand.dispatch(stand.item()))).told?.outcome === 'accepted') return;
  }
}

/** The index, among the requests of a send, of the one at whose answer the sink holds the write. */
async function decisiveRequest(stand: Stand): Promise<number> {
  await warm(stand);
  const item = stand.item();
  const written = stand.written(item);
  let decisive = -1;
  let seen = -1;
  const learn: Distortion = async (request, server) => {
    seen += 1;
    const index = seen;
    const passed = await server(request);
    if (decisive < 0 && !isRead(request) && (await written())) decisive = index;
    return passed;
  };
  await stand.distorted(learn, () => commit(stand, item));
  if (decisive < 0)
    throw new NotApplicable('the write is made by no request of the adapter that the kit could tell apart');
  return decisive;
}

interface Struck {
  readonly item: SinkItem;
  readonly sent: Sent;
  /** Requests after the one that was struck, without reads. */
  readonly after: readonly Passing[];
}

/** Sends one item whose decisive request is answered by `answer`. */
async function struck(
  stand: Stand,
  decisive: number,
  answer: (server: () => Promise<Passed>, written: () => Promise<boolean>) => Promise<Passed> | Passed,
): Promise<Struck> {
  await warm(stand);
  const item = stand.item();
  let seen = -1;
  const strike: Distortion = (request, server) => {
    seen += 1;
    return seen === decisive ? answer(() => server(request), stand.written(item)) : server(request);
  };
  return stand.distorted(strike, async () => {
    const sent = await stand.dispatch(item);
    if (seen < decisive) throw new NotApplicable(SENT_OTHERWISE);
    const after = stand.http.requests.slice(decisive + 1).filter((request) => !isRead(request));
    return { item, sent, after };
  });
}

function judgeAfter(stand: Stand, { after }: Struck): void {
  if (after.length > 0) throw stand.broken('sent_again', `${after.length} more requests after the answer`);
}

async function status400(stand: Stand): Promise<void> {
  const found = await struck(stand, await decisiveRequest(stand), () => answerOf(400, {}, '{}'));
  judgeAfter(stand, found);
  if (found.sent.told?.outcome === 'accepted') throw stand.broken('not_written');
  await judgeLookUp(stand, found.item);
}

async function status429(stand: Stand): Promise<void> {
  const decisive = await decisiveRequest(stand);
  const found = await struck(stand, decisive, () => answerOf(429, { 'retry-after': String(RETRY_AFTER_S) }, '{}'));
  judgeAfter(stand, found);
  const { told } = found.sent;
  if (told?.outcome === 'refused') throw stand.broken('false_refused');
  if (told?.outcome === 'accepted') throw stand.broken('not_written');
  if (told?.outcome === 'not_sent' && told.retryAfterMs !== undefined && told.retryAfterMs !== RETRY_AFTER_S * 1_000) {
    throw stand.broken('retry_after_lost');
  }
  await judgeLookUp(stand, found.item);
}

async function afterCommit(stand: Stand, statuses: readonly number[]): Promise<void> {
  const decisive = await decisiveRequest(stand);
  for (const status of statuses) {
    const found = await struck(stand, decisive, async (server, written) => {
      await server();
      await until(written, VISIBLE_MS);
      return answerOf(status, {}, '{}');
    });
    judgeAfter(stand, found);
    await judgeSent(stand, found.item, found.sent);
    await judgeOnce(stand, found.item);
    await judgeLookUp(stand, found.item);
  }
}

async function redirect(stand: Stand): Promise<void> {
  const decisive = await decisiveRequest(stand);
  for (const status of [301, 302, 303, 307, 308]) {
    await warm(stand);
    const item = stand.item();
    let seen = -1;
    let followed = false;
    const strike: Distortion = (request, server) => {
      seen += 1;
      if (request.path.startsWith(ELSEWHERE)) {
        followed = true;
        return answerOf(200, {}, '{}');
      }
      return seen === decisive ? answerOf(status, { location: ELSEWHERE }) : server(request);
    };
    const sent = await stand
      .distorted(strike, () => stand.dispatch(item))
      .finally(() => {
        // What came of it at the other address is beside the point.
        if (followed) throw stand.broken('redirect_followed');
      });
    if (seen < decisive) throw new NotApplicable(SENT_OTHERWISE);
    await judgeSent(stand, item, sent);
    await judgeOnce(stand, item, 0);
  }
}

const ELSEWHERE = '/elsewhere-than-declared';

/** One item that is held and one that is not, each asked for under `distortion`; says whether any answer was distorted. */
async function askBoth(stand: Stand, distortion: Distortion): Promise<void> {
  if (stand.sink.lookup === 'none') throw new NotApplicable('the sink has no look-up');
  const held = stand.item();
  await stand.distorted(null, () => commit(stand, held));
  for (const item of [held, stand.item()]) {
    await stand.distorted(distortion, async () => {
      const state = (await stand.observe([item])).told?.[0]?.state;
      if (stand.http.requests.length === 0) throw new NotApplicable('the look-up sends no request');
      if (state === 'absent') throw stand.broken('failure_as_absent');
      if (state === 'committed') throw stand.broken('failure_as_committed');
    });
  }
  await judgeLookUp(stand, held);
}

async function lookUpError(stand: Stand): Promise<void> {
  for (const status of [400, 401, 403, 429, 500, 502, 503]) await askBoth(stand, () => answerOf(status, {}, '{}'));
  await askBoth(stand, () => answerOf(302, { location: ELSEWHERE }));
}

async function lookUpGateway(stand: Stand): Promise<void> {
  for (const status of [404, 410]) {
    for (const page of ['', '<html><h1>Not here</h1></html>']) {
      await askBoth(stand, () => answerOf(status, { 'content-type': 'text/html' }, page));
    }
  }
}

async function lookUpGarbage(stand: Stand): Promise<void> {
  for (const body of ['', '{}', '[]', 'null', '"absent"', '<html></html>', '{"state":']) {
    await askBoth(stand, () => answerOf(200, {}, body));
  }
  await askBoth(stand, async (request, server) => {
    const passed = await server(request);
    // Only a body that is read can be torn.
    if (passed.status !== 200 || passed.body.length < 2) return answerOf(500);
    return { ...passed, body: passed.body.subarray(0, passed.body.length / 2) };
  });
}

async function ignoredFilter(stand: Stand): Promise<void> {
  if (stand.sink.lookup === 'none') throw new NotApplicable('the sink has no look-up');
  let ignored = false;
  const ignoring: Distortion = (request, server) => {
    const [path = '', query] = request.path.split('?');
    if (!isRead(request) || query === undefined) return server(request);
    ignored = true;
    return server({ ...request, path });
  };
  const others = [stand.item(), stand.item()];
  for (const other of others) await commit(stand, other);
  const item = stand.item();
  await stand.distorted(ignoring, async () => {
    if ((await stand.ask(item)).state === 'committed') throw stand.broken('false_committed');
  });
  if (!ignored) throw new NotApplicable('the look-up filters by nothing that a server could ignore');
  await commit(stand, item);
  await commit(stand, stand.item());
  await stand.distorted(ignoring, () => judgeLookUp(stand, item));
}

async function staleRead(stand: Stand): Promise<void> {
  if (stand.sink.lookup === 'none') throw new NotApplicable('the sink has no look-up');
  const cache = new Map<string, Passed>();
  let reads = 0;
  const caching: Distortion = async (request, server) => {
    const asked = String(request.headers['cache-control'] ?? '');
    if (isRead(request)) reads += 1;
    if (!isRead(request) || /no-store|no-cache/.test(asked)) return server(request);
    const name = `${request.method} ${request.path}`;
    const passed = cache.get(name) ?? (await server(request));
    cache.set(name, passed);
    return passed;
  };
  const item = stand.item();
  await stand.distorted(caching, async () => {
    await stand.ask(item);
    if (reads === 0) throw new NotApplicable('the look-up sends no read that a cache could answer');
    await commit(stand, item);
    await judgeLookUp(stand, item);
  });
}
