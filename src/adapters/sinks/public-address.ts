/**
 * Which addresses are out on the internet, and connections to those alone.
 *
 * Invariant: the address that is judged is the one that is connected to. A name that is resolved again, to another address, is
 * judged again; one that leads to several addresses is refused when any of them is not public.
 */
import { lookup as resolveByName } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Ranges that are not the internet: this host, private networks, links, tests, multicast, and IPv4 inside IPv6. */
const NOT_PUBLIC = {
  ipv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  ipv6: [
    '::/96',
    '::ffff:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '100::/64',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    'fc00::/7',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
  ],
} as const;

/** Apart, because in one list the ranges of IPv6 that hold IPv4 would hold all of it. */
const blocked = { ipv4: listOf('ipv4'), ipv6: listOf('ipv6') } as const;

function listOf(family: keyof typeof NOT_PUBLIC): BlockList {
  const list = new BlockList();
  for (const range of NOT_PUBLIC[family]) {
    const [network = '', bits = ''] = range.split('/');
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}

/** Whether this text is an IP address on the internet. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  return !blocked[family].check(address, family);
}

/** All addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (hostname) =>
  (await resolveByName(hostname, { all: true })).map(({ address }) => address);

/** For Node's own connect: resolves, and gives it nothing unless every address is allowed. */
export function judgedLookup(resolve: Resolve, allowed: (address: string) => boolean): LookupFunction {
  return (hostname, { all }, callback) => {
    const give = async (): Promise<void> => {
      const addresses = await resolve(hostname);
      const [first] = addresses;
      if (first === undefined || !addresses.every((address) => isIP(address) !== 0 && allowed(address))) {
        throw new Error('no address that this sink may connect to');
      }
      const family = isIP(first);
      if (all)
        callback(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        );
      else callback(null, first, family);
    };
    give().catch(() => callback(Object.assign(new Error('not resolved'), { code: 'ENOTFOUND' }), '', 4));
  };
}
