package config

import (
	"strings"
	"testing"
	"time"
)

func TestWorkersAreValidated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fetch string
		lease time.Duration
		says  string // "": it is valid
	}{
		{"on", 5 * time.Minute, ""},
		{"off", time.Second, ""},
		{"off", maxLease, ""},
		{"no", time.Minute, "--fetch"},
		{"", time.Minute, "--fetch"},
		{"off", time.Millisecond, "--lease"},
		{"off", time.Hour, "--lease"},
	} {
		cfg := Default()
		cfg.Fetch, cfg.Lease = c.fetch, c.lease
		if err := cfg.Validate(); (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("--fetch %s --lease %v: %v", c.fetch, c.lease, err)
		}
	}
}
