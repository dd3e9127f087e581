package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/overview"
)

// workersPage shows the workers, the pace and the channels.
type workersPage struct {
	page

	O      *overview.Overview
	States []string // of tasks in the queue, in order
}

func (d *Dashboard) showWorkers(w http.ResponseWriter, r *http.Request) {
	p := &workersPage{page: d.page(r, "Workers and queue")}
	var err error
	if p.O, err = d.o.Overview.Read(r.Context(), d.o.Now()); err != nil {
		d.showError(w, r, err)
		return
	}
	p.States = slices.Sorted(maps.Keys(p.O.Queue))
	if wantsCSV(r) {
		d.download(w, r, "workers", []string{"host", "process", "started", "state", "active"}, func() ([][]string, bool, error) {
			rows := make([][]string, len(p.O.Workers))
			for i, s := range p.O.Workers {
				rows[i] = []string{s.Host, strconv.Itoa(s.PID), iso(s.Started), s.Status, strconv.Itoa(s.Active)}
			}
			return rows, false, nil
		})
		return
	}
	d.render(w, r, http.StatusOK, "workers", p)
}

// changePace sets or removes the pace of all workers.
func (d *Dashboard) changePace(w http.ResponseWriter, r *http.Request) {
	pace := strings.TrimSpace(r.PostFormValue("rate"))
	if r.PostFormValue("do") == "remove" {
		if !d.confirmed(w, r, "Remove the pace? All workers deliver as fast as possible, and a pause that the target requested ends.", "Remove", "/workers") {
			return
		}
		_, err := d.api.ClearPace(r.Context(), client.ClearPaceQuery{})
		d.end(w, r, err, "The pace was removed. Workers follow within two seconds.", "/workers")
		return
	}
	draft := message.PaceDraft{Rate: pace}
	if burst := strings.TrimSpace(r.PostFormValue("burst")); burst != "" {
		n, err := strconv.ParseInt(burst, 10, 64)
		if err != nil {
			d.refused(w, r, &problem{Status: http.StatusUnprocessableEntity, Detail: "The burst is " + clip(burst, 40) + ": enter a whole number."}, "/workers")
			return
		}
		draft.Burst = n
	}
	_, err := d.api.SetPace(r.Context(), draft, client.SetPaceQuery{})
	d.end(w, r, err, "The pace is "+pace+". Workers follow within two seconds.", "/workers")
}

// resumeChannel resumes a stopped channel.
func (d *Dashboard) resumeChannel(w http.ResponseWriter, r *http.Request) {
	name := r.PostFormValue("channel")
	if !d.confirmed(w, r, "Resume the channel "+name+"? If it was stopped because its provider reported too many devices as gone, such devices are removed from now on.", "Resume", "/workers") {
		return
	}
	answer, err := d.api.ResumeChannel(r.Context(), name)
	text := "The channel " + name + " was resumed. Workers follow within two seconds."
	if answer.Outcome == message.ChannelRunning {
		text = "The channel " + name + " was not stopped."
	}
	d.end(w, r, err, text, "/workers")
}
