package api

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// addExample adds the example of an operation's body, for a body of lines the first line.
func addExample(o *huma.Operation) {
	if o.RequestBody == nil {
		return
	}
	example := bodyExamples()[o.OperationID]
	if lines := lineExamples()[o.OperationID]; len(lines) > 0 {
		example = lines[0]
	}
	for _, content := range o.RequestBody.Content {
		if example != nil {
			content.Example = example
		}
	}
}

// bodyExamples returns the example of each JSON body by operation. A test sends them all to a
// server. They contain no fixed times, which would pass.
func bodyExamples() map[string]json.RawMessage {
	text := func(example string) json.RawMessage { return json.RawMessage(example) }
	message := text(`{"id":"order-17","user":"alice","send_at":"now","title":"Your order has shipped","body":"It arrives on Friday.","on_conflict":"shift"}`)
	policy := text(`{"rules":["1/minute","5/hour","10/calendar_day"],"quiet_hours":["22:00-08:00"],"time_zone":"Europe/Berlin"}`)
	return map[string]json.RawMessage{
		"submitMessage":        message,
		"checkMessage":         message,
		"putMessage":           message,
		"moveMessage":          text(`{"send_at":"now","on_conflict":"shift"}`),
		"moveCampaign":         text(`{"by":"1h","dry_run":true}`),
		"setUserSettings":      text(`{"time_zone":"Europe/Berlin","quiet_hours":["22:00-08:00"],"limits":["3/calendar_day"]}`),
		"changeUserSettings":   text(`{"opt_out":["marketing"]}`),
		"addDevice":            text(`{"id":"phone","channel":"fcm","app":"shop","token":"the-token-that-the-app-got","locale":"en"}`),
		"applyPolicy":          policy,
		"dryRunPolicy":         policy,
		"rollbackPolicy":       text(`{"version":1}`),
		"createAccount":        text(`{"name":"acme","contact":"ops@acme.example","time_zone":"Europe/Berlin"}`),
		"changeAccount":        text(`{"contact":"ops@acme.example","report_at":"08:00"}`),
		"addAccountKey":        text(`{"scopes":["submit","read"]}`),
		"rotateAccountKey":     text(`{"overlap":"1h"}`),
		"setTier":              text(`{"requests_per_minute":60,"messages_per_day":500,"alert_at":[80,100]}`),
		"setCallback":          text(`{"url":"https://acme.example/events"}`),
		"rotateCallbackSecret": text(`{"overlap":"1h"}`),
		"setEventLimits":       text(`{"per_day":500,"alert_at":[80],"alert_to":"ops@acme.example"}`),
		"setPace":              text(`{"rate":"100/second","burst":20}`),
		"stopSending":          text(`{"reason":"the provider asked us to wait"}`),
	}
}

// lineExamples returns the examples of bodies of lines.
func lineExamples() map[string][]json.RawMessage {
	spring := []json.RawMessage{
		json.RawMessage(`{"id":"spring-1","user":"alice","send_at":"now","title":"Spring is here","campaign":"spring"}`),
		json.RawMessage(`{"id":"spring-2","user":"bob","send_at":"now","title":"Spring is here","campaign":"spring"}`),
	}
	return map[string][]json.RawMessage{
		"submitBatch": spring,
		"checkBatch":  spring,
		"recordSent": {
			json.RawMessage(`{"id":"old-1","user":"alice","send_at":"2026-11-20T09:00:00Z"}`),
			json.RawMessage(`{"id":"old-2","user":"bob","send_at":"2026-11-20T09:00:00Z"}`),
		},
	}
}

// optionalExamples returns the optional parameters in the examples of operations. Without a key,
// the account of dead events is required.
func optionalExamples() map[string][]string {
	return map[string][]string{
		"listDeadEvents":  {"account"},
		"retryDeadEvents": {"account"},
		"purgeDeadEvents": {"account"},
	}
}
