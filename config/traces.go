package config

import (
	"errors"
	"fmt"
	"net/url"
)

// Traces has the settings of traces, of this process alone. For whole traces all nodes need the
// same sample.
type Traces struct {
	// OTLPEndpoint is the collector's address, http://HOST:PORT or https://HOST:PORT. Empty: no
	// traces.
	OTLPEndpoint string `name:"otlp-endpoint" group:"node" placeholder:"URL" help:"Send traces of URLs to this OpenTelemetry collector (OTLP over gRPC): http://HOST:4317, or https:// for TLS (default: none)." live:"start"`
	// TraceSample is the part of URLs that is traced, 0 to 1. The same URLs are traced on all nodes
	// with the same sample.
	TraceSample float64 `name:"trace-sample" group:"node" placeholder:"0..1" default:"0.001" help:"Share of the URLs that are traced; the same on all nodes." live:"start"`
	// TraceMatch are patterns of package scope.
	TraceMatch []string `name:"trace-match" group:"node" placeholder:"PATTERN" help:"Always trace URLs that match; patterns as for --include; repeatable; the same on all nodes." live:"start"`
}

func (t *Traces) validateTraces() error {
	var problems []error
	if t.OTLPEndpoint != "" {
		u, err := url.Parse(t.OTLPEndpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
			u.Port() == "" || u.Path != "" && u.Path != "/" {
			problems = append(problems, fmt.Errorf("--otlp-endpoint: %q is no address of a collector: "+
				"write http://HOST:PORT, or https://HOST:PORT for TLS; "+
				"OTLP over gRPC has port 4317", t.OTLPEndpoint))
		}
	}
	if !(t.TraceSample >= 0 && t.TraceSample <= 1) { // NaN too
		problems = append(problems, fmt.Errorf("--trace-sample: %v must be from 0 to 1", t.TraceSample))
	}
	return errors.Join(append(problems, checkPatterns("trace-match", t.TraceMatch))...)
}
