package metadata

import (
	"testing"

	"crawlnode/web/urlnorm"
)

func mustURL(tb testing.TB, s string) urlnorm.URL {
	tb.Helper()
	u, err := urlnorm.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}
