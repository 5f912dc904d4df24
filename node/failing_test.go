package node

import (
	"testing"

	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// The pattern that health tells people leaves out what it is meant to.
func TestExcludePattern(t *testing.T) {
	t.Parallel()
	for domain, urls := range map[string][2]string{
		"bad.example":     {"http://n1.bad.example/x", "http://notbad.example/x"},
		"192.0.2.0/24":    {"http://192.0.2.77:8080/x", "http://192.0.20.7/x"},
		"2001:db8:1::/48": {"https://[2001:db8:1:2::7]/x", "http://[2001:db8:2::7]/x"},
	} {
		rules, err := scope.Compile(scope.Options{Mode: scope.Any, Exclude: []string{excludePattern(domain)}})
		if err != nil {
			t.Errorf("%s: %v", domain, err)
			continue
		}
		for i, u := range urls {
			parsed, err := urlnorm.Parse(u)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules.Judge(parsed, 1, nil).Admit; got != (i == 1) {
				t.Errorf("%s: %s is admitted: %v", domain, u, got)
			}
		}
	}
}
