package serve

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newAPIDurations returns how long requests to the API take, by method and status code.
func newAPIDurations() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "sendlimit_api_request_duration_seconds",
		Help:    "How long requests to the API took, by method and status code; without batches and followed events, whose callers decide how long they last.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, []string{"code", "method"})
}

// measured measures the API requests that a handler answers.
func (m *serviceMetrics) measured(next http.Handler) http.Handler {
	measured := promhttp.InstrumentHandlerDuration(m.requests, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/") || strings.HasSuffix(r.URL.Path, "/events") || comesLater(r) {
			next.ServeHTTP(w, r)
			return
		}
		measured.ServeHTTP(w, r)
	})
}
