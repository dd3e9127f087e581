/** Returns a new UUIDv7. It needs no secure context, as crypto.randomUUID does in browsers. */
export function newId(): string {
  const bytes = random(16);
  const view = new DataView(bytes.buffer);
  const now = Date.now();
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Returns random bytes. Node.js 18 has no global crypto; an id has to be unique, but no secret. */
function random(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  const { crypto } = globalThis as { crypto?: Crypto };
  return crypto?.getRandomValues(bytes) ?? bytes.map(() => Math.floor(Math.random() * 256));
}
