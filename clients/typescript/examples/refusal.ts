import { Refusal, Sendlimit } from "@sendlimit/client";

const sendlimit = new Sendlimit("http://127.0.0.1:8080");
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);

await sendlimit.submitMessage({ user: "alice", send_at: `${tomorrow}T11:11:11Z`, title: "Your table is ready" });
try {
  await sendlimit.submitMessage({ user: "alice", send_at: `${tomorrow}T11:11:45Z`, title: "Rate us" });
} catch (error) {
  if (!(error instanceof Refusal && error.nextFreeAt)) throw error;
  console.log(`${error.code}: ${error.message}`);
  const { send_at } = await sendlimit.submitMessage({ user: "alice", send_at: error.nextFreeAt, title: "Rate us" });
  console.log(`accepted for ${send_at}`);
}
