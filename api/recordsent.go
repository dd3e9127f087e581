package api

import (
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

func (s *server) recordSentRoutes() []route {
	return []route{
		stream(s, route{
			Operation: named("recordSent", http.MethodPost, "/v1/messages/batch/record-sent", "messages",
				"Count messages that another system has sent",
				"For migrating from another system, so that the rules hold from the first day. Each line is a message that was sent "+
					"at its send_at, which has passed. Nothing is judged, charged or delivered, but the messages count when later ones are judged. "+
					"The outcome is `recorded`, with `forgotten` if the message is older than any rule looks back. Title and body are optional, "+
					"and not stored. Give each line an id: then the same lines can be sent again, and each message counts once. "+
					"Lines, lines_per_minute and the end of a batch are as in submitBatch."),
			scope: accounts.ScopeAdmin, once: true,
		}, s.batchAnswers("An outcome `error` is the last. Its line was not recorded: continue with that line."), s.recordSent),
	}
}

// recordSent records the lines of a request, and answers as submitBatch does.
func (s *server) recordSent(w http.ResponseWriter, r *http.Request, _ sentBatch) {
	batch := s.openBatch(w, r)
	batch.lines.check = message.Message.ValidateSent
	batch.answer(r.Context(), s.Submitter.RecordSent, nil)
}

type sentBatch struct{ Lines messageLines }
