package tracing

import (
	"net/url"
	"strconv"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// settings are read from the environment.
type settings struct {
	endpoint string // with the path of traces, for HTTP
	grpc     bool
	sampler  sdk.Sampler
	sampling string // what the sampler does, for the log
	name     string // OTEL_SERVICE_NAME
}

// read reads the settings. It reports false if tracing is off. The error is a
// *fault.InvalidError.
func read(getenv func(string) string) (s settings, on bool, err error) {
	value := func(names ...string) (name, text string) {
		for _, name := range names {
			if text := strings.TrimSpace(getenv(name)); text != "" {
				return name, text
			}
		}
		return names[len(names)-1], ""
	}
	const traces, all = "OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"
	name, endpoint := value(traces+"ENDPOINT", all+"ENDPOINT")
	_, disabled := value("OTEL_SDK_DISABLED")
	_, exporter := value("OTEL_TRACES_EXPORTER")
	if endpoint == "" || strings.EqualFold(disabled, "true") || exporter == "none" {
		return settings{}, false, nil
	}
	if exporter != "" && exporter != "otlp" {
		return settings{}, false, wrong("OTEL_TRACES_EXPORTER", exporter, "otlp or none")
	}
	protocolName, protocol := value(traces+"PROTOCOL", all+"PROTOCOL")
	switch protocol {
	case "", "http/protobuf":
	case "grpc":
		s.grpc = true
	default:
		return settings{}, false, wrong(protocolName, protocol, "http/protobuf or grpc")
	}
	to, problem := url.Parse(endpoint)
	if problem != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		// The value may contain a password.
		return settings{}, false, wrong(name, "", "a URL such as http://127.0.0.1:4318")
	}
	if !s.grpc && name == all+"ENDPOINT" {
		to = to.JoinPath("v1", "traces")
	}
	s.endpoint = to.String()
	_, s.name = value("OTEL_SERVICE_NAME")
	s.sampler, s.sampling, err = samplerOf(value)
	return s, err == nil, err
}

// samplerOf returns the sampler that the environment names, and a description of it.
func samplerOf(value func(...string) (string, string)) (sdk.Sampler, string, error) {
	const key, argument = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	_, named := value(key)
	if named == "" {
		named = "parentbased_always_on"
	}
	kind, based := strings.CutPrefix(strings.ToLower(named), "parentbased_")
	var sampler sdk.Sampler
	switch kind {
	case "always_on":
		sampler = linked{sdk.AlwaysSample()}
	case "always_off": // also for what links to a trace that is sampled
		sampler = sdk.NeverSample()
	case "traceidratio":
		ratio := 1.0
		if _, text := value(argument); text != "" {
			var err error
			if ratio, err = strconv.ParseFloat(text, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return nil, "", wrong(argument, text, "a number from 0 to 1, such as 0.01")
			}
			named += " " + text
		}
		sampler = linked{sdk.TraceIDRatioBased(ratio)}
	default:
		return nil, "", wrong(key, named, "always_on, always_off or traceidratio, each also with parentbased_ before it")
	}
	own := unguided{sampler}
	if based {
		return sdk.ParentBased(own, sdk.WithRemoteParentSampled(own), sdk.WithRemoteParentNotSampled(own)), named, nil
	}
	return own, named, nil
}

func wrong(name, value, want string) error {
	return &fault.InvalidError{Field: name, Value: value, Want: want}
}
