package notifiertest

import (
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// canary is in every part of a message that no error may show.
const canary = "canary-7f3a"

// largestID is the id of the sample with as much text as a message may have.
const largestID = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" +
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

func sample(user, id string) notifier.Notification {
	at := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	return notifier.Notification{
		ID:             id,
		User:           user + "-" + canary,
		Category:       "orders",
		Title:          "Your order " + canary,
		Body:           "It is on its way " + canary,
		Data:           map[string]string{"order": canary},
		Campaign:       "spring",
		Metadata:       map[string]string{"source": canary},
		SendAt:         at,
		RequestedAt:    at.Add(-time.Minute),
		Attempt:        1,
		IdempotencyKey: notifier.IdempotencyKey("", user, id),
	}
}

// samples returns edge cases of a message's content, by name.
func samples() map[string]notifier.Notification {
	titleOnly := sample("alice", "title-only")
	titleOnly.Category, titleOnly.Body, titleOnly.Data, titleOnly.RequestedAt = "", "", nil, time.Time{}
	titleOnly.Campaign, titleOnly.Metadata = "", nil

	bodyOnly := titleOnly
	bodyOnly.Title, bodyOnly.Body = "", "body "+canary

	largest := sample("bob", "largest")
	largest.User = strings.Repeat("ü", 128)
	largest.ID = largestID
	largest.Title, largest.Body = strings.Repeat("t", 1024), strings.Repeat("b", 3072)

	odd := sample("carol", "odd:id_1.2-3")
	odd.User = `<"a\b/c" & d>@example.com` + canary
	odd.Title = "tab\t newline\n quote\" nul\x00 separator\u2028 flag\U0001F1E9\U0001F1EA " + canary
	odd.Body = "not UTF-8: \xff\xfe " + canary
	odd.Data = map[string]string{"": "", "new\nline": "<script>" + canary}

	late := sample("dave", "late")
	late.Attempt = 25

	return map[string]notifier.Notification{
		"everything": sample("alice", "everything"),
		"title only": titleOnly,
		"body only":  bodyOnly,
		"largest":    largest,
		"odd":        odd,
		"late try":   late,
	}
}
