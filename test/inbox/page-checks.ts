/** What every page of the inbox must keep, looked at in a real Chromium. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';

const AXE = require.resolve('axe-core/axe.min.js');
/** Where pictures of the pages go, when they are wanted. */
const PICTURES = process.env['COUNTERSIGN_PICTURES'];

/** What reaches past the right edge, but for what scrolls by itself and what is there for screen readers only. */
const CUT_OFF = `[...document.querySelectorAll('body *')]
  .filter((one) => one.closest('.scrolls, .skip, .hidden') === null && one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.outerHTML.slice(0, 80))
  .concat(document.documentElement.scrollWidth > innerWidth ? ['the page scrolls sideways'] : [])`;

export function cutOff(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(CUT_OFF);
}

export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: path.join(PICTURES, `${name}.png`) });
}

/** What axe finds by all of its rules. */
export async function faultsByAxe(page: Page): Promise<readonly string[]> {
  // As an extension would, past the policy of the page.
  const session = await page.context().newCDPSession(page);
  await session.send('Page.setBypassCSP', { enabled: true });
  await page.reload();
  await page.waitForLoadState('load');
  await page.addScriptTag({ path: AXE });
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>('axe.run()');
  await session.send('Page.setBypassCSP', { enabled: false });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

/** Presses Tab until what has this id, or this value, has the focus. */
export async function tabTo(page: Page, id: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate('document.activeElement.id || document.activeElement.getAttribute("value")');
    if (at === id) return;
  }
  throw new Error(`no Tab leads to ${id}`);
}
