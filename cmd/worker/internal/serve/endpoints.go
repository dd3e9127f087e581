package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/sendlimit/sendlimiter/config"
)

// endpoints are the addresses that a worker listens at.
type endpoints struct {
	api   *endpoint
	admin *endpoint // health and metrics; serves nothing without admin_listen
}

// listen listens at the addresses of the settings. The error is a *fault.InvalidError.
func listen(ctx context.Context, c config.Config, logger *slog.Logger) (endpoints, error) {
	secured, err := tlsOf(c.TLSCert, c.TLSKey, logger)
	if err != nil {
		return endpoints{}, err
	}
	api, err := newEndpoint(ctx, "listen", c.Listen, secured, announceAPI(c))
	if err != nil {
		return endpoints{}, err
	}
	admin, err := newEndpoint(ctx, "admin_listen", c.AdminListen, nil, announceAdmin)
	if err != nil {
		api.close()
		return endpoints{}, err
	}
	return endpoints{api: api, admin: admin}, nil
}

// announceAPI logs the address of the API and the services beside it.
func announceAPI(c config.Config) announcement {
	return func(ctx context.Context, base string, logger *slog.Logger) {
		if c.AdminListen == "" {
			logger.InfoContext(ctx, "health endpoint", "url", base+healthPath)
		}
		base += c.BasePath
		logger.InfoContext(ctx, "API endpoint", "url", base+"/v1/", "docs", base+"/docs")
		if c.Dashboard {
			logger.InfoContext(ctx, "dashboard", "url", base+"/")
		}
	}
}

// serve answers at all addresses until shutdown or close, or until one fails, which calls stop.
func (e endpoints) serve(ctx context.Context, stop func(), api, admin http.Handler, logger *slog.Logger) error {
	var both sync.WaitGroup
	var failed [2]error
	both.Go(func() {
		defer stop()
		failed[0] = e.api.serve(ctx, api, logger)
	})
	both.Go(func() {
		defer stop()
		failed[1] = e.admin.serve(ctx, admin, logger)
	})
	both.Wait()
	return errors.Join(failed[:]...)
}

// shutdown ends serve after the running requests, as endpoint.shutdown does. The probes answer
// to the end.
func (e endpoints) shutdown(ctx context.Context, logger *slog.Logger) error {
	err := e.api.shutdown(ctx, logger)
	return errors.Join(err, e.admin.shutdown(ctx, logger))
}

// close releases the addresses, also if serve was never called.
func (e endpoints) close() {
	e.api.close()
	e.admin.close()
}
