/** A payload codec that leaves nothing readable. */
import type { Payload, PayloadCodec } from '@temporalio/common';

const MASK = 0x5a;
const masked = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ MASK);
const text = new TextEncoder();

export const maskingCodec: PayloadCodec = {
  encode: async (payloads) =>
    payloads.map((payload) => ({
      metadata: { encoding: text.encode('binary/masked'), was: payload.metadata?.['encoding'] ?? new Uint8Array() },
      data: masked(payload.data ?? new Uint8Array()),
    })),
  decode: async (payloads) =>
    payloads.map((payload): Payload =>
      payload.metadata?.['was'] === undefined || payload.metadata['was'] === null
        ? payload
        : { metadata: { encoding: payload.metadata['was'] }, data: masked(payload.data ?? new Uint8Array()) },
    ),
};
