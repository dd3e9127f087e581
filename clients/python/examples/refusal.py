from datetime import datetime, timedelta, timezone

from sendlimit import Client, Refusal

sendlimit = Client("http://127.0.0.1:8080")
tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).replace(hour=11, minute=11, second=11, microsecond=0)

sendlimit.submit_message({"user": "alice", "send_at": tomorrow, "title": "Your table is ready"})
try:
    sendlimit.submit_message({"user": "alice", "send_at": tomorrow.replace(second=45), "title": "Rate us"})
except Refusal as refusal:
    if not refusal.next_free_at:
        raise
    print(f"{refusal.code}: {refusal}")
    accepted = sendlimit.submit_message({"user": "alice", "send_at": refusal.next_free_at, "title": "Rate us"})
    print(f"accepted for {accepted['send_at']}")
