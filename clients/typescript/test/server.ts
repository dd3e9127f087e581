import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTCPServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { type Options, Sendlimit } from "../src/index.js";

/** The address of a real API. The tests of the project start a worker for it. */
export function apiUrl(): string {
  const url = process.env["SENDLIMIT_URL"];
  if (!url) throw new Error("set SENDLIMIT_URL to the address of a worker's API that needs no key");
  return url;
}

/** What a server was asked. */
export interface Asked {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Answers the n-th request, from 0. */
export type Script = (response: ServerResponse, n: number, asked: Asked) => void;

/** A client that notes its waits, and does not wait. */
export class Noted extends Sendlimit {
  readonly waits: number[] = [];

  protected override async wait(ms: number): Promise<void> {
    this.waits.push(ms);
  }
}

/** Starts a server with a script, and a client of it. */
export async function scripted(
  t: TestContext, script: Script, options: Options = {},
): Promise<{ client: Noted; asked: Asked[]; url: string }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      const one = { method: request.method ?? "", url: request.url ?? "", headers: request.headers, body };
      asked.push(one);
      script(response, asked.length - 1, one);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { client: new Noted(url, options), asked, url };
}

/** Starts a server that passes connections on to the real API until they are cut. */
export async function cutting(t: TestContext): Promise<{ url: string; cut: () => void; connections: () => number }> {
  const api = new URL(apiUrl());
  const open = new Set<Socket>();
  let connections = 0;
  const server = createTCPServer((near) => {
    connections++;
    const far = connect(Number(api.port), api.hostname);
    for (const [one, other] of [[near, far], [far, near]] as const) {
      open.add(one);
      one.on("error", () => undefined);
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  const cut = () => {
    for (const one of open) one.destroy();
    open.clear();
  };
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => {
    cut();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, connections: () => connections };
}

/** Answers with JSON. */
export function reply(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const type = status < 300 ? "application/json" : "application/problem+json";
  response.writeHead(status, { "Content-Type": type, "X-Request-Id": "r-1", ...headers }).end(JSON.stringify(body));
}

/** Answers that a message is accepted. */
export function accept(response: ServerResponse): void {
  reply(response, 201, { outcome: "accepted", id: "a", user: "alice", send_at: "2026-11-22T11:11:11.000Z" });
}

export const unavailable = { outcome: "error", code: "unavailable", detail: "no Redis" };
export const message = { user: "alice", send_at: "2026-11-22T11:11:11Z", title: "Your table is ready" };
