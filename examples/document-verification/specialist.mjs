/**
 * A worker that stands in for a model: it fetches its context, looks, and hands in what it found. It has one credential for one job, speaks one
 * JSON object a line over standard input and output, and can do nothing else.
 */
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

const credential = process.env.COUNTERSIGN_WORKER_CREDENTIAL;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ask = async (request) => {
  process.stdout.write(`${JSON.stringify({ credential, ...request })}\n`);
  return JSON.parse((await lines.next()).value);
};

const sentences = (text) => text.replace(/\s+/g, ' ').match(/[^.!?]+[.!?]/g) ?? [];

/** What each specialist finds; its answer names the passages and what should stand there. */
const CHECKS = {
  figures: ({ target }) =>
    sentences(target)
      .filter((sentence) => /\d/.test(sentence.replace(/\[\d+\]/g, '')) && !/\[\d+\]/.test(sentence))
      .map((find) => ({ find: find.trim(), replace: find.trim().replace(/\.$/, ' [1].') })),
  tone: ({ target, configuration }) =>
    configuration.words
      .filter((word) => target.includes(word))
      .map((word) => ({ find: `an ${word} success`, replace: 'a success' })),
  length: ({ target, configuration }) =>
    sentences(target)
      .filter((sentence) => sentence.split(' ').length > configuration.most)
      .map((find) => ({ find: find.trim(), replace: 'The new pages are better than the old ones.' })),
};

function specialist(context) {
  const findings = CHECKS[context.check](context);
  return { outcome: findings.length === 0 ? 'conforms' : 'departs', content: { findings } };
}

/** One proposal for each check that found something; longer passages first, so that one edit does not hide another. */
function coordinator({ results, target }) {
  const proposals = results
    .filter(({ outcome }) => outcome === 'departs')
    .map(({ place, content }) => {
      const name = createHash('sha256')
        .update(JSON.stringify([target, place]))
        .digest('hex')
        .slice(0, 32);
      return { proposal_id: `prop_${name}`, addresses: [place], findings: content.findings };
    });
  const edits = proposals.flatMap(({ findings }) => findings).sort((a, b) => b.find.length - a.find.length);
  return {
    proposals: proposals.map(({ proposal_id, addresses }) => ({ proposal_id, addresses })),
    content: { edits },
  };
}

const { context } = await ask({ op: 'context' });
await ask({ op: 'submit', output: context.role === 'specialist' ? specialist(context) : coordinator(context) });
process.exit(0);
