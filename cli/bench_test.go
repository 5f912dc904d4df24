package cli

import (
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// TestBench runs the measurement on small webs.
func TestBench(t *testing.T) {
	t.Parallel()
	small := []string{"bench", "--hosts", "8", "--pages-per-host", "10"}
	run(t, "", append(small, "-o", "json")...).want(t, command.ExitOK, `"missing":0`, "")

	r := run(t, "", append(small, "--tls", "--conn-requests", "2", "--latency", "1ms", "--set",
		"delay=2ms", "--probe", "--pairs", "1", "--against", "bare=true,http1=true", "-o", "json")...)
	r.want(t, command.ExitOK, `"against":"bare=true,http1=true"`, "pair 1: ")
	for _, want := range []string{`"http2_requests":0,`, `"tls_resumed":`, `"status":{"asked":`} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the result lacks %s:\n%s", want, r.out)
		}
	}
	if strings.Count(r.out, `"http2_requests":0,`) != 1 ||
		strings.Contains(r.out, `"tls_resumed":0,`) {
		t.Errorf("one of both should speak HTTP/2, and both resume sessions:\n%s", r.out)
	}
	run(t, "", append(small, "--set", "delay=soon")...).want(t, command.ExitError, "", "delay")
}
