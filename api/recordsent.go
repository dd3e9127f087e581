package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

func (s *server) recordSentRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "recordSent", Method: http.MethodPost, Path: "/v1/messages/batch/record-sent", Tags: []string{"messages"},
			Summary: "Count messages that another system has sent",
			Description: "For moving from another system, so that the rules hold from the first day. Each line is a message that was sent " +
				"at its send_at, which has passed. Nothing is judged, charged or delivered, but the messages count when later ones are judged. " +
				"The outcome is `recorded`, with `forgotten` if the message is older than any rule looks back. Title and body are not needed, " +
				"and not kept. Give each line an id: then the same lines can be sent again, and each message counts once. " +
				"Lines, lines_per_minute and the end of a batch are as in submitBatch.",
			RequestBody: &huma.RequestBody{
				Required: true, Content: map[string]*huma.MediaType{
					ndjson: {Schema: schemaOf[message.Draft](s)}, jsonl: {Schema: schemaOf[message.Draft](s)},
				},
			},
			Responses: s.batchResponses("An outcome `error` is the last. Its line was not recorded: continue with that line."),
		},
		scope: accounts.ScopeAdmin, handle: s.recordSent, streams: true,
	}
}

// recordSent records the lines of a request, and answers them as submitBatch does.
func (s *server) recordSent(w http.ResponseWriter, r *http.Request) {
	if _, err := batchQuery(r); err != nil {
		s.writeError(w, r, err)
		return
	}
	batch := s.openBatch(w, r)
	batch.lines.check = message.Message.ValidateSent
	batch.answer(r.Context(), s.submitter.RecordSent, nil)
}
